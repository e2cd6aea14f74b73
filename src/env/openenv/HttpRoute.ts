/**
 * The HTTP routes of our server, as a table: a method, a path, and the answer to a query or a body. Statuses are those of OpenEnv's own
 * server. The table is all that `/openapi.json` lists.
 */
import { Schema } from "effect";
import { type Answer, ok } from "./Answer.ts";
import { KeptEpisodes } from "./KeptEpisodes.ts";
import { describedAt, EpisodeState, type JsonObject, ServedAction } from "./Protocol.ts";
import type { Served } from "./Served.ts";
import { describedBy, Showing } from "./Showing.ts";

/** What is served, for `/metadata`. */
export interface About {
  readonly name: string;
  readonly description: string;
  readonly version: string;
}

export type Route =
  | { readonly method: "GET"; readonly path: `/${string}`; readonly answer: (query: URLSearchParams) => Answer }
  | { readonly method: "POST"; readonly path: `/${string}`; readonly answer: (body: unknown) => Answer };

const jsonSchema = (schema: Schema.Top): JsonObject => ({ ...Schema.toJsonSchemaDocument(schema).schema });

/** The version in OpenEnv's own OpenAPI document, which clients read as the version of the protocol. */
const protocolVersion = "1.0.0";

/** JSON-RPC's answer for an environment without tools. */
const noTools = (body: unknown): Answer => {
  const id = typeof body === "object" && body !== null && "id" in body ? body.id : null;
  return ok({ jsonrpc: "2.0", id, error: { code: -32603, message: "Environment does not support MCP", data: null } });
};

const openApi = ({ description, name }: About, routes: readonly Pick<Route, "method" | "path">[]): JsonObject => ({
  openapi: "3.1.0",
  info: { title: name, description, version: protocolVersion },
  paths: Object.fromEntries(
    routes.map(({ method, path }) => [
      path,
      { [method.toLowerCase()]: { responses: { 200: { description: "JSON" } } } },
    ]),
  ),
});

export const routesOf = (served: Served, about: About): readonly Route[] => {
  const episodes = new KeptEpisodes(served);
  const schemas = {
    action: jsonSchema(ServedAction),
    observation: jsonSchema(Showing),
    state: jsonSchema(EpisodeState),
  };
  const metadata = { ...about, readme_content: null, author: null, documentation_url: null };
  const described = describedBy(served.host.environment);
  const routes: readonly Route[] = [
    { method: "GET", path: "/health", answer: () => ok({ status: "healthy" }) },
    { method: "GET", path: "/metadata", answer: () => ok(metadata) },
    { method: "GET", path: "/schema", answer: () => ok(schemas) },
    { method: "GET", path: "/openapi.json", answer: () => ok(openApi(about, routes)) },
    { method: "GET", path: describedAt, answer: () => ok({ ...described }) },
    { method: "GET", path: "/state", answer: (query) => episodes.state(query.get("episode_id")) },
    { method: "POST", path: "/reset", answer: (body) => episodes.reset(body) },
    { method: "POST", path: "/step", answer: (body) => episodes.step(body) },
    { method: "POST", path: "/close", answer: (body) => episodes.close(body) },
    { method: "POST", path: "/mcp", answer: noTools },
  ];
  return routes;
};
