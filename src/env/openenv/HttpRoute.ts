/**
 * The HTTP routes of our server. Statuses are those of OpenEnv's server, which reads an empty body as `{}`. Invariant: `/openapi.json` lists all
 * routes of the table.
 */
import { Effect, Schema } from "effect";
import type { Reply } from "../../support/http/Reply.ts";
import type { Route } from "../../support/http/Route.ts";
import { failed, type HttpAnswer, ok } from "./HttpAnswer.ts";
import { HttpEpisodes } from "./HttpEpisodes.ts";
import { descriptionPath, EpisodeState, type JsonObject, ServedAction } from "./Protocol.ts";
import { descriptionOf, ServedObservation } from "./ServedObservation.ts";
import type { ServerContext } from "./ServerContext.ts";

/** The part of `/metadata` that describes the served environment. */
export interface ServerMetadata {
  readonly name: string;
  readonly description: string;
  readonly version: string;
}

export const replyOf = ({ body, status }: HttpAnswer) =>
  ({ status, headers: { "content-type": "application/json" }, body: JSON.stringify(body) }) satisfies Reply;

const notJson = failed(422, [{ type: "json_invalid", loc: ["body"], msg: "the body is no JSON" }], {
  code: "INVALID_JSON",
});

const answerTo = (text: string, answer: (body: unknown) => HttpAnswer): HttpAnswer => {
  let body: unknown = {};
  try {
    if (text.trim() !== "") body = JSON.parse(text);
  } catch {
    return notJson;
  }
  return answer(body);
};

const get = (path: `/${string}`, answer: (query: URLSearchParams) => HttpAnswer): Route => ({
  method: "GET",
  path,
  handle: ({ query }) => Effect.sync(() => replyOf(answer(query))),
});

const post = (path: `/${string}`, answer: (body: unknown) => HttpAnswer): Route => ({
  method: "POST",
  path,
  handle: ({ text }) => Effect.map(text, (body) => replyOf(answerTo(body, answer))),
});

const jsonSchema = (schema: Schema.Top): JsonObject => ({ ...Schema.toJsonSchemaDocument(schema).schema });

/** The version in OpenEnv's own OpenAPI document, which clients read as the version of the protocol. */
const protocolVersion = "1.0.0";

/** JSON-RPC's answer for an environment without tools. */
const noTools = (body: unknown): HttpAnswer => {
  const id = typeof body === "object" && body !== null && "id" in body ? body.id : null;
  return ok({ jsonrpc: "2.0", id, error: { code: -32603, message: "Environment does not support MCP", data: null } });
};

const openApi = (
  { description, name }: ServerMetadata,
  routes: readonly Pick<Route, "method" | "path">[],
): JsonObject => ({
  openapi: "3.1.0",
  info: { title: name, description, version: protocolVersion },
  paths: Object.fromEntries(
    routes.map(({ method, path }) => [
      path,
      { [method.toLowerCase()]: { responses: { 200: { description: "JSON" } } } },
    ]),
  ),
});

export const routesOf = (context: ServerContext, about: ServerMetadata): readonly Route[] => {
  const episodes = new HttpEpisodes(context);
  const schemas = {
    action: jsonSchema(ServedAction),
    observation: jsonSchema(ServedObservation),
    state: jsonSchema(EpisodeState),
  };
  const metadata = { ...about, readme_content: null, author: null, documentation_url: null };
  const described = descriptionOf(context.host.environment);
  const routes: readonly Route[] = [
    get("/health", () => ok({ status: "healthy" })),
    get("/metadata", () => ok(metadata)),
    get("/schema", () => ok(schemas)),
    get("/openapi.json", () => ok(openApi(about, routes))),
    get(descriptionPath, () => ok({ ...described })),
    get("/state", (query) => episodes.state(query.get("episode_id"))),
    post("/reset", (body) => episodes.reset(body)),
    post("/step", (body) => episodes.step(body)),
    post("/close", (body) => episodes.close(body)),
    post("/mcp", noTools),
  ];
  return routes;
};
