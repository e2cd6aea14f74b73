/**
 * The generation servers that a run file asks for: they are checked and given the starting weights before the run begins. What is wrong with a
 * server then is bad input, and says what to start it with.
 */
import { randomBytes } from "node:crypto";
import { join, resolve } from "node:path";
import process from "node:process";
import { Effect, Redacted, type Scope } from "effect";
import type { RunConfig } from "../../config/RunConfig.ts";
import type { Version } from "../../domain/Episode.ts";
import { BadInput, type PolicyError } from "../../domain/Errors.ts";
import { Servers } from "../../flow/Servers.ts";
import type { Generator } from "../../generation/Generator.ts";
import type { Model } from "../../model/Model.ts";
import * as StopMatcher from "../../model/tokenizer/StopMatcher.ts";
import type { Probe } from "../weights/Prober.ts";
import * as Publisher from "../weights/Publisher.ts";
import * as Channel from "./Channel.ts";
import { Crew, type CrewOptions } from "./Crew.ts";
import type { Dialect, Wanted } from "./Dialect.ts";
import type { Stops } from "./ending.ts";
import { Kept } from "./Kept.ts";
import { Member } from "./Member.ts";
import { metrics } from "./metrics.ts";
import * as RemotePolicy from "./RemotePolicy.ts";
import type { ServerFailure } from "./ServerFailure.ts";
import { sglang } from "./sglang.ts";
import { startLine } from "./startLine.ts";
import { vllm } from "./vllm.ts";

export type Engine = Exclude<RunConfig["model"]["generator"]["engine"], "local" | "tinker">;
const dialects: Readonly<Record<Engine, Dialect>> = { vllm, sglang };

/** Versions on disk: the one that servers have and the one that they are being given. */
const NEWEST = 2;
/** The text that servers and we are asked about, and ids of it at most. */
export const TEXT = "The quick brown fox jumps over the lazy dog 0123456789 times; then it rests, and nobody asks why.";
const PROBE = 32;
/** Beginnings of it. */
const BEGINNINGS = 4;

/** Beginnings of the text, evenly long. */
export const probeOf = (text: Int32Array): Probe => {
  const ids = text.slice(0, PROBE);
  const lengths = Array.from({ length: BEGINNINGS }, (_, i) => Math.ceil(((i + 1) * ids.length) / BEGINNINGS));
  return { ids, lengths: [...new Set(lengths)] };
};

const bad = (message: string): BadInput => new BadInput({ message });

/** The servers' key out of the environment; null where none is asked for. */
const keyOf = (name: string): Effect.Effect<Redacted.Redacted | null, BadInput> => {
  if (name === "") return Effect.succeed(null);
  const key = process.env[name];
  return key === undefined || key === ""
    ? Effect.fail(bad(`model.generator.api_key_env: ${name}: the environment has no such variable, or it is empty`))
    : Effect.succeed(Redacted.make(key));
};

const wantedOf = ({ model: { generator }, rollout }: RunConfig, { checkpoint, tokenizer }: Model): Wanted => {
  const { adapter, vocabSize } = checkpoint.config;
  const ids = tokenizer.encode(TEXT);
  return {
    model: generator.model,
    vocabSize,
    positions: rollout.max_model_len,
    kind: adapter === undefined ? "full" : "adapter",
    rank: adapter?.rank ?? 0,
    text: TEXT,
    ids,
    probe: probeOf(ids),
  };
};

/** Lets every server join. Fails where one is unfit, or none is there. */
const joined = Effect.fnUntraced(function* (
  crew: Crew,
  members: readonly Member[],
  advice: string,
): Effect.fn.Return<ReadonlyMap<number, ServerFailure>, BadInput> {
  const results = yield* Effect.forEach(members, (_, server) => Effect.result(crew.join(server)), {
    concurrency: "unbounded",
  });
  const away = new Map<number, ServerFailure>();
  for (const [server, result] of results.entries()) {
    if (result._tag === "Success") continue;
    if (result.failure.reason !== "away" && result.failure.reason !== "busy") {
      return yield* bad(`model.generator: ${result.failure.message}`);
    }
    away.set(server, result.failure);
  }
  if (away.size < members.length) return away;
  const whys = [...away.values()].map(({ message }) => message).join("; ");
  return yield* bad(`model.generator.urls: no server answers: ${whys}; start one with: ${advice}`);
});

/** Folder of the versions inside a run's, where no shared one is named. */
export const WEIGHTS = "weights";

const weightsFolder = (shared: string, folder: string, run: string): string =>
  resolve(shared === "" ? join(folder, WEIGHTS) : join(shared, run));

const stopsOf = (texts: readonly string[], { stopIds, tokenizer }: Model): Stops => ({
  ids: new Set(stopIds),
  matcher: texts.length === 0 ? null : StopMatcher.make(texts, tokenizer.bytesOf),
});

/** The servers of a run file, joined, over the versions that a publisher writes. */
const crewOf = Effect.fnUntraced(function* (
  engine: Engine,
  { model: keys }: RunConfig,
  wanted: Wanted,
  run: string,
  publisher: Publisher.Publisher,
) {
  const { api_key_env, concurrency, down_deadline_ms, probe_tolerance, request_timeout_ms, urls } = keys.generator;
  const key = yield* keyOf(api_key_env);
  const dialect = dialects[engine];
  const members = urls.map((url) => {
    const channel = Channel.make({ url: url.replace(/\/+$/, ""), key, timeoutMs: request_timeout_ms });
    return new Member({ dialect, channel, wanted, run, tolerance: probe_tolerance, concurrency });
  });
  const started = startLine(engine, wanted, keys.path);
  const options: CrewOptions = {
    members,
    publisher,
    pins: dialect.pins(wanted.kind),
    tell: (yield* Servers).tell,
    downDeadlineMs: down_deadline_ms,
    advice: `start one again, and go on with --resume; it is started with: ${started}`,
  };
  const crew = new Crew(options, yield* Kept.make(publisher), yield* Effect.scope);
  yield* crew.run(yield* joined(crew, members, started));
  return { crew, members };
});

/** What is measured of them goes into the step records. */
const measuring = Effect.fnUntraced(function* (
  { price_in, price_out }: RunConfig["model"]["generator"],
  policy: RemotePolicy.RemoteGenerator,
  crew: Crew,
  members: readonly Member[],
) {
  const { measure } = yield* Servers;
  yield* measure(() =>
    metrics({
      tokens: policy.counts(),
      requests: crew.counts,
      waiting: crew.fleet.waiting,
      loads: members.map(({ load }) => load),
      prices: { in: price_in, out: price_out },
    }),
  );
});

/** Servers that start from `model`'s weights as `version`. `folder` is the run's own. */
export const servers = Effect.fnUntraced(function* (
  engine: Engine,
  config: RunConfig,
  model: Model,
  version: Version,
  folder: string,
): Effect.fn.Return<Generator, BadInput | PolicyError, Scope.Scope> {
  const { generation, model: keys } = config;
  const wanted = wantedOf(config, model);
  const run = `millrace-${randomBytes(4).toString("hex")}`;
  const directory = weightsFolder(keys.generator.weights_dir, folder, run);
  const versions = { directory, version, layout: "untied", newest: NEWEST, probe: wanted.probe } as const;
  const publisher = yield* Publisher.make({ ...versions, model });
  const { crew, members } = yield* crewOf(engine, config, wanted, run, publisher);
  const { maxPositions } = model.checkpoint.config;
  const policy = RemotePolicy.make({
    crew,
    publisher,
    stops: stopsOf(generation.stop, model),
    stopTexts: generation.stop,
    vocabSize: wanted.vocabSize,
    positions: () => Math.min(maxPositions, ...members.map(({ positions }) => positions)),
    requestTokens: keys.generator.request_tokens,
    keepsCaches: generation.kv_on_update === "keep",
  });
  yield* measuring(keys.generator, policy, crew, members);
  return policy;
});
