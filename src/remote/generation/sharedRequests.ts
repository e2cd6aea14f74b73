/**
 * Requests and answers that vLLM and SGLang share, except for paths and names of counters. Invariant: every part that leaves here has been
 * checked, and a server's restart is not taken for a bad request.
 */
import { Effect, Schema } from "effect";
import type { Version } from "../../domain/Episode.ts";
import type { Channel } from "./Channel.ts";
import { checkPart, type RawPart } from "./checkPart.ts";
import type { Dialect, SampledPart, ServerContext, ServerLoad, ServerRequest } from "./Dialect.ts";
import { ServerFailure, serverFailure } from "./ServerFailure.ts";

/** Likeliest tokens that a probe asks for. */
export const PROBE_TOKENS = 5;

/** The label of a version at servers, such as "millrace-4f1c-v12". Servers report it with sampled tokens, and no two runs share one. */
export const versionLabel = (run: string, version: Version): string => `${run}-v${version}`;

/** The version that a label stands for; undefined if it is not of this run. */
export const parseLabel = (run: string, label: string): Version | undefined => {
  if (!label.startsWith(`${run}-v`)) return undefined;
  const digits = label.slice(run.length + 2);
  return /^\d{1,15}$/.test(digits) ? Number(digits) : undefined;
};

/** The tokens [start, end) that one version of the weights sampled, in the servers' JSON. */
export const VersionSpan = Schema.Struct({ version: Schema.String, start: Schema.Number, end: Schema.Number });

const Models = Schema.Struct({
  data: Schema.Array(
    Schema.Struct({
      id: Schema.String,
      /** Base model of an adapter. */
      parent: Schema.optionalKey(Schema.NullOr(Schema.String)),
      max_model_len: Schema.optionalKey(Schema.NullOr(Schema.Number)),
    }),
  ),
});

export const listModels = (channel: Channel) =>
  Effect.map(channel.requestDecoded({ method: "GET", path: "/v1/models" }, Models), ({ data }) => data);

/** True if the server lists the adapter of a version. */
export const listsAdapter = (
  { channel, run }: ServerContext,
  version: Version,
): Effect.Effect<boolean, ServerFailure> =>
  Effect.map(listModels(channel), (models) => models.some(({ id }) => id === versionLabel(run, version)));

/** A name, its labels, its value, and perhaps a time. Labels may contain braces inside quotes. */
const LINE = /^([a-zA-Z_:][a-zA-Z0-9_:]*)(?:\{(?:[^"}]|"(?:[^"\\]|\\.)*")*\})?\s+(\S+)/;

/** Reads values from Prometheus' text format: the sum of each name over its labels. Other lines are skipped. */
export const valuesIn = (text: string, names: readonly string[]): ReadonlyMap<string, number> => {
  const nameSet = new Set(names);
  const sums = new Map<string, number>();
  for (const line of text.split("\n")) {
    const [, name, written] = LINE.exec(line) ?? [];
    if (name === undefined || !nameSet.has(name)) continue;
    const value = Number(written);
    if (Number.isFinite(value)) sums.set(name, (sums.get(name) ?? 0) + value);
  }
  return sums;
};

/** Reads a server's load by its own names of the counters. */
export const loadIn = (text: string, names: Readonly<Partial<Record<keyof ServerLoad, string>>>): ServerLoad => {
  const values = valuesIn(text, Object.values(names));
  const load = Object.entries(names).flatMap(([key, name]) => {
    const value = values.get(name);
    return value === undefined ? [] : [[key, value] as const];
  });
  return Object.fromEntries(load);
};

/** Reads a server's load from its counters, by their names. A server without counters has an empty load. */
export const loadFromCounters =
  (counters: Readonly<Partial<Record<keyof ServerLoad, string>>>): Dialect["fetchLoad"] =>
  (channel) =>
    Effect.map(channel.send({ method: "GET", path: "/metrics" }), ({ body, status }) =>
      status === 200 ? loadIn(body ?? "", counters) : {},
    );

/** Unloads an adapter. Whole weights need no unloading, since newer ones replace them. */
export const unloadAdapterAt =
  (path: string): Dialect["unload"] =>
  ({ channel, run, requirements }, version) =>
    requirements.kind === "full"
      ? Effect.void
      : channel.requestOk({ method: "POST", path, json: { lora_name: versionLabel(run, version) } });

/** Checks the part that was sums in a server's answer. */
export const checkedPart = (
  { channel, run, requirements }: ServerContext,
  request: ServerRequest,
  raw: RawPart | ServerFailure,
): Effect.Effect<SampledPart, ServerFailure> => {
  const rules = {
    name: channel.name,
    vocabSize: requirements.vocabSize,
    versionOf: (label: string) => parseLabel(run, label),
  };
  const part = raw instanceof ServerFailure ? raw : checkPart(raw, request, rules);
  return part instanceof ServerFailure ? Effect.fail(part) : Effect.succeed(part);
};

/** A restarted server rejects requests for an adapter that it no longer has: this turns such a rejection into `forgotten`. */
export const detectForgotten =
  (hasVersion: Dialect["hasVersion"], server: ServerContext, version: Version) =>
  (failure: ServerFailure): Effect.Effect<never, ServerFailure> =>
    failure.reason !== "rejected" || server.requirements.kind === "full"
      ? Effect.fail(failure)
      : Effect.flatMap(hasVersion(server, version), (isThere) =>
          Effect.fail(
            isThere
              ? failure
              : serverFailure("forgotten", `${server.channel.name}: it does not have version ${version} any more`),
          ),
        );
