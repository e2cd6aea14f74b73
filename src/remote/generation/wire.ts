/**
 * What servers of all kinds are asked and answer alike, but for the names of their paths and counters. Invariant: what comes out of an answer has
 * been checked, and no failure of a server that was started again is taken for one of the request.
 */
import { Effect, Schema } from "effect";
import type { Version } from "../../domain/Episode.ts";
import { checked, type Raw } from "./answer.ts";
import type { Channel } from "./Channel.ts";
import type { Answer, Ask, Dialect, Load, Server } from "./Dialect.ts";
import { loadIn } from "./metricsText.ts";
import { failed, ServerFailure } from "./ServerFailure.ts";
import { labelOf, versionIn } from "./versionNames.ts";

/** Tokens that a probe asks to be named. */
export const NAMED = 5;

/** The tokens [start, end) that weights of one name sampled, as both write it. */
export const Span = Schema.Struct({ version: Schema.String, start: Schema.Number, end: Schema.Number });

const Models = Schema.Struct({
  data: Schema.Array(
    Schema.Struct({
      id: Schema.String,
      /** What an adapter stands beside. */
      parent: Schema.optionalKey(Schema.NullOr(Schema.String)),
      max_model_len: Schema.optionalKey(Schema.NullOr(Schema.Number)),
    }),
  ),
});

/** The models and adapters that it lists. */
export const modelsOf = (channel: Channel) =>
  Effect.map(channel.get({ method: "GET", path: "/v1/models" }, Models), ({ data }) => data);

/** Whether it lists the adapter that a version is. */
export const listsAdapter = ({ channel, run }: Server, version: Version): Effect.Effect<boolean, ServerFailure> =>
  Effect.map(modelsOf(channel), (models) => models.some(({ id }) => id === labelOf(run, version)));

/** Its load out of the counters it shows, by their names; nothing where it shows none. */
export const loadBy =
  (counters: Readonly<Partial<Record<keyof Load, string>>>): Dialect["load"] =>
  (channel) =>
    Effect.map(channel.ask({ method: "GET", path: "/metrics" }), ({ body, status }) =>
      status === 200 ? loadIn(body ?? "", counters) : {},
    );

/** Lets an adapter go; whole weights go with the next. */
export const forgetAt =
  (path: string): Dialect["forget"] =>
  ({ channel, run, wanted }, version) =>
    wanted.kind === "full"
      ? Effect.void
      : channel.tell({ method: "POST", path, json: { lora_name: labelOf(run, version) } });

/** The answer that was found in what a server wrote, checked. */
export const answerOf = (
  { channel, run, wanted }: Server,
  ask: Ask,
  raw: Raw | ServerFailure,
): Effect.Effect<Answer, ServerFailure> => {
  const rules = {
    name: channel.name,
    vocabSize: wanted.vocabSize,
    versionOf: (label: string) => versionIn(run, label),
  };
  const answer = raw instanceof ServerFailure ? raw : checked(raw, ask, rules);
  return answer instanceof ServerFailure ? Effect.fail(answer) : Effect.succeed(answer);
};

/** A server that was started again knows no adapter, and takes no request of one: it has forgotten the version. */
export const whereForgotten =
  (has: Dialect["has"], server: Server, version: Version) =>
  (failure: ServerFailure): Effect.Effect<never, ServerFailure> =>
    failure.reason !== "rejected" || server.wanted.kind === "full"
      ? Effect.fail(failure)
      : Effect.flatMap(has(server, version), (there) =>
          Effect.fail(
            there
              ? failure
              : failed("forgotten", `${server.channel.name}: it does not have version ${version} any more`),
          ),
        );
