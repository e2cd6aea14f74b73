/**
 * The client of a Kimina Lean server: a script enters, a verdict leaves, or a `KiminaFailure`. Two forms of one question: POST /api/check
 * {snippets: [{id, code}], timeout, debug, reuse} and POST /verify {codes: [{custom_id, proof}], timeout, disable_cache}; GET /health says
 * {status: "ok"}. A proof that Lean needs too long for is a verdict; a server that is silent, busy or broken is a failure, and so is one
 * that takes too long to load the imports, which no tactic can help. (In RAGEN each of them is a rejected tactic.) Invariant: a request ends
 * within `longestMs`, and interruption ends it at once.
 */
import { Duration, Effect, Schedule, Schema } from "effect";
import { ask, type Reply } from "../../env/http.ts";
import type { LeanConfig } from "./LeanConfig.ts";
import { Response, timedOut, type Verdict, verdictOf } from "./Verdict.ts";

export class KiminaFailure extends Schema.TaggedError<KiminaFailure>()("KiminaFailure", {
  reason: Schema.Literals(["unreachable", "timeout", "busy", "refused", "failed", "nonsense"]),
  message: Schema.String,
}) {}

const answer = {
  error: Schema.optionalKey(Schema.NullOr(Schema.String)),
  response: Schema.optionalKey(Schema.NullOr(Response)),
};
type Answer = Schema.Struct<typeof answer>["Type"];

const CheckAnswers = Schema.fromJsonString(
  Schema.Struct({ results: Schema.Array(Schema.Struct({ id: Schema.String, ...answer })) }),
);
const VerifyAnswers = Schema.fromJsonString(
  Schema.Struct({
    results: Schema.Array(Schema.Struct({ custom_id: Schema.Union([Schema.String, Schema.Number]), ...answer })),
  }),
);
const Health = Schema.fromJsonString(Schema.Struct({ status: Schema.String }));
const Complaint = Schema.fromJsonString(Schema.Struct({ detail: Schema.String }));

const mostBytes = 16 * 1024 * 1024;
const healthTimeoutMs = 5_000;
/** Longest wait between two attempts, seconds. */
const longestWait = 10;

const fail = (reason: KiminaFailure["reason"], message: string): Effect.Effect<never, KiminaFailure> =>
  Effect.fail(new KiminaFailure({ reason, message: `the Lean server ${message}` }));

const urlOf = ({ server_url }: LeanConfig, path: string): string => `${server_url.replace(/\/+$/, "")}${path}`;

const askServer = (
  config: LeanConfig,
  path: string,
  request: RequestInit,
  limitMs: number,
): Effect.Effect<Reply, KiminaFailure> => {
  const key = config.api_key ?? process.env.LEAN_SERVER_API_KEY ?? "";
  const authorization: Record<string, string> = key === "" ? {} : { authorization: `Bearer ${key}` };
  const headers = { "content-type": "application/json", ...authorization };
  return ask(urlOf(config, path), { ...request, headers }, mostBytes).pipe(
    Effect.catch((cause: string) => fail("unreachable", `at ${config.server_url} cannot be reached: ${cause}`)),
    Effect.timeoutOrElse({
      duration: Duration.millis(limitMs),
      orElse: () => fail("timeout", `did not answer within ${limitMs / 1000} seconds`),
    }),
  );
};

/** What the server says of its own failure, if it does. */
const complaint = (body: string | null): string => {
  const said = Schema.decodeUnknownOption(Complaint)(body);
  return said._tag === "Some" ? ` (${said.value.detail.slice(0, 200)})` : "";
};

/** The body of a good answer. A status that further attempts cannot mend is a refusal; `unknown` says what an unknown path means. */
const goodBody = ({ body, status }: Reply, unknown: string): Effect.Effect<string, KiminaFailure> => {
  const said = `answered with status ${status}${complaint(body)}`;
  if (status === 429) return fail("busy", said);
  if (status >= 500) return fail("failed", said);
  if (status < 200 || status > 299) {
    const hint = status === 401 || status === 403 ? "; env_config.api_key is its key" : "";
    return fail("refused", said + hint + (status === 404 ? `; ${unknown}` : ""));
  }
  return body === null ? fail("nonsense", "sent an answer without an end") : Effect.succeed(body);
};

const answersIn = (
  protocol: LeanConfig["protocol"],
  body: string,
): readonly (readonly [id: string, Answer])[] | null => {
  if (protocol === "check") {
    const read = Schema.decodeUnknownOption(CheckAnswers)(body);
    return read._tag === "Some" ? read.value.results.map(({ id, ...one }) => [id, one]) : null;
  }
  const read = Schema.decodeUnknownOption(VerifyAnswers)(body);
  return read._tag === "Some" ? read.value.results.map(({ custom_id, ...one }) => [String(custom_id), one]) : null;
};

/** The one answer about the script of `id`. */
const answerOf = (config: LeanConfig, id: string, body: string): Effect.Effect<Answer, KiminaFailure> => {
  const own = answersIn(config.protocol, body)?.find(([of]) => of === id);
  return own === undefined ? fail("nonsense", "sent an answer that cannot be read") : Effect.succeed(own[1]);
};

const judge = ({ error, response }: Answer): Effect.Effect<Verdict, KiminaFailure> => {
  if (typeof error === "string") {
    if (/header/i.test(error) && /timed out/i.test(error))
      return fail("timeout", `could not load the imports: ${error}`);
    return /timed out/i.test(error) ? Effect.succeed(timedOut(error)) : fail("failed", `failed: ${error}`);
  }
  if (response === undefined || response === null) return fail("nonsense", "sent neither an answer nor an error");
  return Effect.succeed(verdictOf(response));
};

const question = (config: LeanConfig, id: string, code: string): readonly [path: string, body: unknown] => {
  const timeout = Math.ceil(config.request_timeout);
  return config.protocol === "check"
    ? ["/api/check", { snippets: [{ id, code }], timeout, debug: false, reuse: true }]
    : ["/verify", { codes: [{ custom_id: id, proof: code }], timeout, disable_cache: false }];
};

/** What a check may take in all, milliseconds; with a second to spare for what is not the server's. */
export const longestMs = ({ http_timeout, max_retries, retry_wait }: LeanConfig): number => {
  const waits = Array.from({ length: max_retries - 1 }, (_, i) => Math.min(retry_wait * 2 ** i, longestWait));
  return 1000 * (1 + max_retries * http_timeout + waits.reduce((sum, wait) => sum + wait, 0));
};

/** What Lean says of a script; `id` names it in the server's log. */
export const check = Effect.fn("KiminaServer.check")(function* (config: LeanConfig, id: string, code: string) {
  const [path, body] = question(config, id, code);
  const request: RequestInit = { method: "POST", body: JSON.stringify(body) };
  const unknown =
    config.protocol === "check"
      ? "env_config.protocol=verify asks as servers before 2.0 expect"
      : "it is no Lean server";
  return yield* askServer(config, path, request, 1000 * config.http_timeout).pipe(
    Effect.flatMap((reply) => goodBody(reply, unknown)),
    Effect.flatMap((text) => answerOf(config, id, text)),
    Effect.flatMap(judge),
    Effect.retry({
      schedule: Schedule.exponential(Duration.seconds(config.retry_wait)).pipe(
        Schedule.modifyDelay(({ duration }) => Effect.succeed(Duration.min(duration, Duration.seconds(longestWait)))),
      ),
      times: config.max_retries - 1,
      while: ({ reason }: KiminaFailure) => reason !== "refused",
    }),
  );
});

/** Why the server is not ready, or null when it is. */
export const ailment = Effect.fn("KiminaServer.ailment")(function* (config: LeanConfig) {
  return yield* askServer(config, "/health", { method: "GET" }, healthTimeoutMs).pipe(
    Effect.flatMap((reply) => goodBody(reply, "it is no Lean server")),
    Effect.map((body) => {
      const health = Schema.decodeUnknownOption(Health)(body);
      return health._tag === "Some" && health.value.status === "ok"
        ? null
        : `what answers at ${config.server_url} is no Lean server, or not a healthy one`;
    }),
    Effect.catchTag("KiminaFailure", ({ message }) => Effect.succeed(message)),
  );
});
