/**
 * The client of a Kimina Lean server: it checks one script, or fails with a `KiminaFailure`. A server speaks POST /api/check {snippets: [{id,
 * code}], timeout, debug, reuse}, or POST /verify {codes: [{custom_id, proof}], timeout, disable_cache}. A proof that takes Lean too long is a
 * result. A server that is silent, busy, broken or slow to load the imports is a failure (in RAGEN a rejected tactic). A check ends within
 * `longestMs`, and interruption ends it at once.
 */
import { Effect, Schema } from "effect";
import { errorDetail } from "../../../support/http/errorText.ts";
import { isTransient, type RetryPolicy, retry, totalWaitMs } from "../../../support/http/retry.ts";
import { type HttpReply, type HttpRequest, send } from "../../../support/http/send.ts";
import type { LeanConfig } from "./LeanConfig.ts";
import { LeanResponse, type ProofCheck, proofCheckOf, timedOutCheck } from "./ProofCheck.ts";

export class KiminaFailure extends Schema.TaggedError<KiminaFailure>()("KiminaFailure", {
  reason: Schema.Literals(["unreachable", "timeout", "busy", "refused", "failed", "nonsense"]),
  message: Schema.String,
}) {}

const answer = {
  error: Schema.optionalKey(Schema.NullOr(Schema.String)),
  response: Schema.optionalKey(Schema.NullOr(LeanResponse)),
};
type ScriptAnswer = Schema.Struct<typeof answer>["Type"];

const CheckAnswers = Schema.fromJsonString(
  Schema.Struct({ results: Schema.Array(Schema.Struct({ id: Schema.String, ...answer })) }),
);
const VerifyAnswers = Schema.fromJsonString(
  Schema.Struct({
    results: Schema.Array(Schema.Struct({ custom_id: Schema.Union([Schema.String, Schema.Number]), ...answer })),
  }),
);
const Health = Schema.fromJsonString(Schema.Struct({ status: Schema.String }));
const maxBytes = 16 * 1024 * 1024;
const healthTimeoutMs = 5_000;

const policyOf = ({ max_retries, retry_wait }: LeanConfig): RetryPolicy => ({
  firstMs: 1000 * retry_wait,
  longestMs: 10_000,
  maxRetries: max_retries - 1,
});

const fail = (reason: KiminaFailure["reason"], message: string): Effect.Effect<never, KiminaFailure> =>
  Effect.fail(new KiminaFailure({ reason, message: `the Lean server ${message}` }));

const urlOf = ({ server_url }: LeanConfig, path: string): string => `${server_url.replace(/\/+$/, "")}${path}`;

const request = (
  config: LeanConfig,
  path: string,
  limitMs: number,
  what: Pick<HttpRequest, "method" | "json">,
): Effect.Effect<HttpReply, KiminaFailure> => {
  const key = config.api_key ?? process.env.LEAN_SERVER_API_KEY ?? "";
  const headers: Record<string, string> = key === "" ? {} : { authorization: `Bearer ${key}` };
  return send({ ...what, url: urlOf(config, path), headers, maxBytes, timeoutMs: limitMs }).pipe(
    Effect.catch(({ message, reason }) =>
      reason === "timeout"
        ? fail("timeout", `did not answer within ${limitMs / 1000} seconds`)
        : fail("unreachable", `at ${config.server_url} cannot be reached: ${message}`),
    ),
  );
};

/** The body of a successful reply. A status that another attempt cannot change is a refusal; `notFoundHint` explains a status of 404. */
const successBody = ({ body, status }: HttpReply, notFoundHint: string): Effect.Effect<string, KiminaFailure> => {
  const statusText = `answered with status ${status}${errorDetail(body)}`;
  if (status === 429) return fail("busy", statusText);
  if (isTransient(status)) return fail("failed", statusText);
  if (status < 200 || status > 299) {
    const hint = status === 401 || status === 403 ? "; env_config.api_key is its key" : "";
    return fail("refused", statusText + hint + (status === 404 ? `; ${notFoundHint}` : ""));
  }
  return body === null ? fail("nonsense", "sent an answer without an end") : Effect.succeed(body);
};

const answersIn = (
  protocol: LeanConfig["protocol"],
  body: string,
): readonly (readonly [id: string, ScriptAnswer])[] | null => {
  if (protocol === "check") {
    const read = Schema.decodeUnknownOption(CheckAnswers)(body);
    return read._tag === "Some" ? read.value.results.map(({ id, ...one }) => [id, one]) : null;
  }
  const read = Schema.decodeUnknownOption(VerifyAnswers)(body);
  return read._tag === "Some" ? read.value.results.map(({ custom_id, ...one }) => [String(custom_id), one]) : null;
};

/** The one answer about the script of `id`. */
const answerOf = (config: LeanConfig, id: string, body: string): Effect.Effect<ScriptAnswer, KiminaFailure> => {
  const matching = answersIn(config.protocol, body)?.find(([answerId]) => answerId === id);
  return matching === undefined ? fail("nonsense", "sent an answer that cannot be read") : Effect.succeed(matching[1]);
};

const checkOf = ({ error, response }: ScriptAnswer): Effect.Effect<ProofCheck, KiminaFailure> => {
  if (typeof error === "string") {
    if (/header/i.test(error) && /timed out/i.test(error))
      return fail("timeout", `could not load the imports: ${error}`);
    return /timed out/i.test(error) ? Effect.succeed(timedOutCheck(error)) : fail("failed", `failed: ${error}`);
  }
  if (response === undefined || response === null) return fail("nonsense", "sent neither an answer nor an error");
  return Effect.succeed(proofCheckOf(response));
};

const requestBody = (config: LeanConfig, id: string, code: string): readonly [path: string, body: unknown] => {
  const timeout = Math.ceil(config.request_timeout);
  return config.protocol === "check"
    ? ["/api/check", { snippets: [{ id, code }], timeout, debug: false, reuse: true }]
    : ["/verify", { codes: [{ custom_id: id, proof: code }], timeout, disable_cache: false }];
};

/** The longest time of a check with all attempts, in milliseconds, with a second to spare for the work on this side. */
export const longestMs = (config: LeanConfig): number =>
  1000 + 1000 * config.http_timeout * config.max_retries + totalWaitMs(policyOf(config), config.max_retries - 1);

/** Checks a script; `id` names it in the server's log. */
export const check = Effect.fn("KiminaServer.check")(function* (config: LeanConfig, id: string, code: string) {
  const [path, json] = requestBody(config, id, code);
  const unknown =
    config.protocol === "check"
      ? "env_config.protocol=verify asks as servers before 2.0 expect"
      : "it is no Lean server";
  const attempt = request(config, path, 1000 * config.http_timeout, { method: "POST", json }).pipe(
    Effect.flatMap((reply) => successBody(reply, unknown)),
    Effect.flatMap((text) => answerOf(config, id, text)),
    Effect.flatMap(checkOf),
  );
  return yield* retry(attempt, policyOf(config), { isRetryable: ({ reason }) => reason !== "refused" });
});

/** The reason why the server is not ready, or null if it is. */
export const healthProblem = Effect.fn("KiminaServer.healthProblem")(function* (config: LeanConfig) {
  return yield* request(config, "/health", healthTimeoutMs, { method: "GET" }).pipe(
    Effect.flatMap((reply) => successBody(reply, "it is no Lean server")),
    Effect.map((body) => {
      const health = Schema.decodeUnknownOption(Health)(body);
      return health._tag === "Some" && health.value.status === "ok"
        ? null
        : `what answers at ${config.server_url} is no Lean server, or not a healthy one`;
    }),
    Effect.catchTag("KiminaFailure", ({ message }) => Effect.succeed(message)),
  );
});
