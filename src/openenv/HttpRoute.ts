/**
 * The HTTP side of our server. Enters: a request; leaves: JSON, with the statuses OpenEnv's server has. A reset that names an
 * `episode_id` is kept under it for the steps that name it too, until `/close` or until it is idle for long; without one nothing is
 * kept, as in OpenEnv. Invariant: kept episodes and sockets share one table of sessions.
 */
import type { IncomingMessage, ServerResponse } from "node:http";
import { Result, Schema } from "effect";
import * as Dialogue from "./Dialogue.ts";
import { CloseBody, describedAt, EpisodeState, type JsonObject, ServedAction, StepBody } from "./Protocol.ts";
import type { Place } from "./SessionTable.ts";
import { describedBy, Showing } from "./Showing.ts";
import { fullMessage, type Served } from "./SocketRoute.ts";

export interface Described {
  /** What is served, for `/metadata`. */
  readonly name: string;
  readonly description: string;
  readonly version: string;
}

interface Kept {
  readonly place: Place;
  dialogue: Dialogue.Dialogue;
}

interface Answer {
  readonly status: number;
  readonly body: JsonObject;
}

const ok = (body: JsonObject): Answer => ({ status: 200, body });
const failed = (status: number, detail: unknown, more: JsonObject = {}): Answer => ({
  status,
  body: { detail, ...more },
});

const refusal = ({ code, errors, message }: Dialogue.Refusal): Answer =>
  code === "VALIDATION_ERROR"
    ? failed(422, errors ?? message, { code, message })
    : failed(code === "EXECUTION_ERROR" ? 500 : 409, message, { code });

const answerOf = (reply: Dialogue.Reply): Answer =>
  reply._tag === "Observed" ? ok({ ...reply.payload }) : refusal(reply);

const jsonSchema = (schema: Schema.Top): JsonObject => ({ ...Schema.toJsonSchemaDocument(schema).schema });

/** Of OpenEnv's own description of itself, which clients read as the version of the protocol. */
const protocolVersion = "1.0.0";
const anyAnswer = { responses: { 200: { description: "JSON" } } };

/** An environment without tools, in the words of JSON-RPC. */
const noTools = (body: unknown): Answer => {
  const id = typeof body === "object" && body !== null && "id" in body ? body.id : null;
  return ok({ jsonrpc: "2.0", id, error: { code: -32603, message: "Environment does not support MCP", data: null } });
};

const decodeStep = Schema.decodeUnknownResult(StepBody);
const decodeClose = Schema.decodeUnknownResult(CloseBody);

const idOf = (body: unknown): string | null =>
  typeof body === "object" && body !== null && "episode_id" in body && typeof body.episode_id === "string"
    ? body.episode_id
    : null;

/** Path and query of a request, whatever a client writes there. */
export const targetOf = ({
  url = "/",
}: IncomingMessage): { readonly path: string; readonly query: URLSearchParams } => {
  const [path = "/", ...query] = url.split("?");
  return { path, query: new URLSearchParams(query.join("?")) };
};

/** Body of a request as text; null when it is longer than allowed. */
const textOf = async (request: IncomingMessage, limit: number): Promise<string | null> => {
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of request as AsyncIterable<Buffer>) {
    bytes += chunk.byteLength;
    if (bytes > limit) return null;
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString();
};

export const makeHttpRoute = ({ host, maxMessageBytes, nextSeed, sessions }: Served, about: Described) => {
  const kept = new Map<string, Kept>();
  const schemas = {
    action: jsonSchema(ServedAction),
    observation: jsonSchema(Showing),
    state: jsonSchema(EpisodeState),
  };

  const described = describedBy(host.environment);

  const forget = (id: string): boolean => {
    kept.get(id)?.place.leave();
    return kept.delete(id);
  };

  const reset = (body: unknown): Answer => {
    const id = idOf(body);
    const before = id === null ? undefined : kept.get(id);
    const { dialogue, reply } = Dialogue.reset(host, before?.dialogue ?? null, body, nextSeed);
    if (id === null || reply._tag === "Refused") return answerOf(reply);
    if (before !== undefined) {
      before.place.touch();
      before.dialogue = dialogue;
      return answerOf(reply);
    }
    const place = sessions.enter(() => kept.delete(id));
    if (place === null) {
      const more = { code: "CAPACITY_REACHED", active_sessions: sessions.active(), max_sessions: sessions.max };
      return failed(503, fullMessage(sessions), more);
    }
    kept.set(id, { place, dialogue });
    return answerOf(reply);
  };

  const missing = (id: string | null): Answer =>
    id === null
      ? failed(409, "no episode is kept without a name: give /reset and /step the same episode_id, or use /ws", {
          code: "SESSION_ERROR",
        })
      : failed(404, `no episode ${JSON.stringify(id)} is kept here any more`, { code: "SESSION_ERROR" });

  const step = (body: unknown): Answer => {
    const asked = decodeStep(body);
    if (Result.isFailure(asked)) return refusal(Dialogue.misfit("the step is not understood", asked.failure));
    const { action, episode_id: id = null } = asked.success;
    const episode = id === null ? undefined : kept.get(id);
    if (episode === undefined) return missing(id);
    episode.place.touch();
    const { dialogue, reply } = Dialogue.step(host, episode.dialogue, action);
    episode.dialogue = dialogue;
    return answerOf(reply);
  };

  const state = (id: string | null): Answer => {
    if (id === null) return ok({ ...Dialogue.stateOf(null) });
    const episode = kept.get(id);
    return episode === undefined ? missing(id) : ok({ ...Dialogue.stateOf(episode.dialogue) });
  };

  const close = (body: unknown): Answer => {
    const asked = decodeClose(body);
    if (Result.isFailure(asked)) return refusal(Dialogue.misfit("the close is not understood", asked.failure));
    return ok({ closed: forget(asked.success.episode_id) });
  };

  const gets: Readonly<Record<string, (query: URLSearchParams) => Answer>> = {
    "/health": () => ok({ status: "healthy" }),
    "/metadata": () => ok({ ...about, readme_content: null, author: null, documentation_url: null }),
    "/schema": () => ok(schemas),
    "/openapi.json": () => ok(openApi),
    [describedAt]: () => ok({ ...described }),
    "/state": (query) => state(query.get("episode_id")),
  };
  const posts: Readonly<Record<string, (body: unknown) => Answer>> = {
    "/reset": reset,
    "/step": step,
    "/close": close,
    "/mcp": noTools,
  };
  const openApi: JsonObject = {
    openapi: "3.1.0",
    info: { title: about.name, description: about.description, version: protocolVersion },
    paths: Object.fromEntries([
      ...Object.keys(gets).map((path) => [path, { get: anyAnswer }]),
      ...Object.keys(posts).map((path) => [path, { post: anyAnswer }]),
    ]),
  };

  const answer = async (request: IncomingMessage): Promise<Answer> => {
    const { path, query } = targetOf(request);
    const get = Object.hasOwn(gets, path) ? gets[path] : undefined;
    const post = Object.hasOwn(posts, path) ? posts[path] : undefined;
    if (get === undefined && post === undefined) return failed(404, "Not Found");
    if (get !== undefined && (request.method === "GET" || request.method === "HEAD")) return get(query);
    if (post === undefined || request.method !== "POST") return failed(405, "Method Not Allowed");
    const text = await textOf(request, maxMessageBytes);
    if (text === null) return failed(413, `a body may have ${maxMessageBytes} bytes`);
    let body: unknown = {};
    try {
      if (text.trim() !== "") body = JSON.parse(text);
    } catch {
      return failed(422, [{ type: "json_invalid", loc: ["body"], msg: "the body is no JSON" }], {
        code: "INVALID_JSON",
      });
    }
    return post(body);
  };

  const respond = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const { body, status } = await answer(request);
    response.writeHead(status, {
      "content-type": "application/json",
      // What is left of a body that was too long is not read.
      ...(status === 413 ? { connection: "close" } : {}),
    });
    response.end(request.method === "HEAD" ? undefined : JSON.stringify(body));
  };

  return (request: IncomingMessage, response: ServerResponse): void => {
    // A client that hangs up has nobody to be answered.
    respond(request, response).catch(() => response.destroy());
  };
};
