/**
 * The HTTP routes of our server. Statuses are those of OpenEnv's own server, which takes an empty body for `{}`. The table is all that
 * `/openapi.json` lists.
 */
import { Effect, Schema } from "effect";
import type { Reply } from "../../support/http/Reply.ts";
import type { Route } from "../../support/http/Route.ts";
import { type Answer, failed, ok } from "./Answer.ts";
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

export const replyOf = ({ body, status }: Answer) =>
  ({ status, headers: { "content-type": "application/json" }, body: JSON.stringify(body) }) satisfies Reply;

const notJson = failed(422, [{ type: "json_invalid", loc: ["body"], msg: "the body is no JSON" }], {
  code: "INVALID_JSON",
});

const answerTo = (text: string, answer: (body: unknown) => Answer): Answer => {
  let body: unknown = {};
  try {
    if (text.trim() !== "") body = JSON.parse(text);
  } catch {
    return notJson;
  }
  return answer(body);
};

const get = (path: `/${string}`, answer: (query: URLSearchParams) => Answer): Route => ({
  method: "GET",
  path,
  handle: ({ query }) => Effect.sync(() => replyOf(answer(query))),
});

const post = (path: `/${string}`, answer: (body: unknown) => Answer): Route => ({
  method: "POST",
  path,
  handle: ({ text }) => Effect.map(text, (body) => replyOf(answerTo(body, answer))),
});

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
    get("/health", () => ok({ status: "healthy" })),
    get("/metadata", () => ok(metadata)),
    get("/schema", () => ok(schemas)),
    get("/openapi.json", () => ok(openApi(about, routes))),
    get(describedAt, () => ok({ ...described })),
    get("/state", (query) => episodes.state(query.get("episode_id"))),
    post("/reset", (body) => episodes.reset(body)),
    post("/step", (body) => episodes.step(body)),
    post("/close", (body) => episodes.close(body)),
    post("/mcp", noTools),
  ];
  return routes;
};
