/**
 * Opens the generation servers of a run file: each is checked and given the starting weights before the run begins. A problem found then is
 * bad input, and the message says how to start the server.
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
import type { Dialect, ServerRequirements } from "./Dialect.ts";
import { PublishedVersions } from "./PublishedVersions.ts";
import * as RemotePolicy from "./RemotePolicy.ts";
import type { ServerFailure } from "./ServerFailure.ts";
import { ServerHandle } from "./ServerHandle.ts";
import { ServerSet, type ServerSetOptions } from "./ServerSet.ts";
import { serverMetrics } from "./serverMetrics.ts";
import { sglang } from "./sglang.ts";
import { vllm } from "./vllm.ts";

export type ServerEngine = Exclude<RunConfig["model"]["generator"]["engine"], "local" | "tinker">;
const dialects: Readonly<Record<ServerEngine, Dialect>> = { vllm, sglang };

/** Versions on disk: the one that servers have, and the one that they are adopting. */
const VERSIONS_ON_DISK = 2;
/** Text that servers' log-probabilities are compared on, and the most ids of it. */
export const PROBE_TEXT =
  "The quick brown fox jumps over the lazy dog 0123456789 times; then it rests, and nobody asks why.";
const PROBE_LENGTH = 32;
/** Prefixes of the text that are scored. */
const PROBE_PREFIXES = 4;

/** Evenly spaced prefixes of the text. */
export const probeOf = (text: Int32Array): Probe => {
  const ids = text.slice(0, PROBE_LENGTH);
  const lengths = Array.from({ length: PROBE_PREFIXES }, (_, i) => Math.ceil(((i + 1) * ids.length) / PROBE_PREFIXES));
  return { ids, lengths: [...new Set(lengths)] };
};

const bad = (message: string): BadInput => new BadInput({ message });

/** Reads the servers' key from the environment; null if the run file names no variable. */
const keyOf = (name: string): Effect.Effect<Redacted.Redacted | null, BadInput> => {
  if (name === "") return Effect.succeed(null);
  const key = process.env[name];
  return key === undefined || key === ""
    ? Effect.fail(bad(`model.generator.api_key_env: ${name}: the environment has no such variable, or it is empty`))
    : Effect.succeed(Redacted.make(key));
};

const requirementsOf = (
  { model: { generator }, rollout }: RunConfig,
  { checkpoint, tokenizer }: Model,
): ServerRequirements => {
  const { adapter, vocabSize } = checkpoint.config;
  const ids = tokenizer.encode(PROBE_TEXT);
  return {
    model: generator.model,
    vocabSize,
    positions: rollout.max_model_len,
    kind: adapter === undefined ? "full" : "adapter",
    rank: adapter?.rank ?? 0,
    text: PROBE_TEXT,
    ids,
    probe: probeOf(ids),
  };
};

/**
 * The command that starts a server for a run, for messages; docs/remote.md explains its flags.
 *
 * @param path the folder of the run's starting weights
 */
const startCommand = (engine: ServerEngine, { kind, positions, rank }: ServerRequirements, path: string): string => {
  const adapter = kind === "adapter";
  if (engine === "sglang") {
    const lora = adapter ? ` --enable-lora --max-lora-rank ${rank}` : "";
    return `python -m sglang.launch_server --model-path ${path} --context-length ${positions} --enable-metrics${lora}`;
  }
  const environment = `VLLM_SERVER_DEV_MODE=1${adapter ? " VLLM_ALLOW_RUNTIME_LORA_UPDATING=1" : ""}`;
  const lora = adapter ? ` --enable-lora --max-lora-rank ${rank} --max-loras 2` : "";
  const flags = `--logprobs-mode processed_logprobs --enable-scale-out --max-model-len ${positions}${lora}`;
  return `${environment} vllm serve ${path} ${flags}`;
};

/** Lets all servers join. Fails if one is unfit, or none answers. */
const joinAll = Effect.fnUntraced(function* (
  servers: ServerSet,
  handles: readonly ServerHandle[],
  advice: string,
): Effect.fn.Return<ReadonlyMap<number, ServerFailure>, BadInput> {
  const results = yield* Effect.forEach(handles, (_, server) => Effect.result(servers.join(server)), {
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
  if (away.size < handles.length) return away;
  const whys = [...away.values()].map(({ message }) => message).join("; ");
  return yield* bad(`model.generator.urls: no server answers: ${whys}; start one with: ${advice}`);
});

/** Folder of the versions in the run's own folder, unless a shared one is named. */
export const WEIGHTS_FOLDER = "weights";

const weightsFolder = (shared: string, folder: string, run: string): string =>
  resolve(shared === "" ? join(folder, WEIGHTS_FOLDER) : join(shared, run));

/** Connects the servers of a run file and lets them join. */
const connectServers = Effect.fnUntraced(function* (
  engine: ServerEngine,
  { model: keys }: RunConfig,
  requirements: ServerRequirements,
  run: string,
  publisher: Publisher.Publisher,
) {
  const { api_key_env, concurrency, down_deadline_ms, probe_tolerance, request_timeout_ms, urls } = keys.generator;
  const key = yield* keyOf(api_key_env);
  const dialect = dialects[engine];
  const handles = urls.map((url) => {
    const channel = Channel.make({ url: url.replace(/\/+$/, ""), key, timeoutMs: request_timeout_ms });
    return new ServerHandle({ dialect, channel, requirements, run, tolerance: probe_tolerance, concurrency });
  });
  const command = startCommand(engine, requirements, keys.path);
  const options: ServerSetOptions = {
    servers: handles,
    publisher,
    pinsVersions: dialect.pinsVersions(requirements.kind),
    tell: (yield* Servers).report,
    downDeadlineMs: down_deadline_ms,
    advice: `start one again, and go on with --resume; it is started with: ${command}`,
  };
  const servers = new ServerSet(options, yield* PublishedVersions.make(publisher), yield* Effect.scope);
  yield* servers.start(yield* joinAll(servers, handles, command));
  return { servers, handles };
});

/** Adds the servers' metrics to the step records. */
const measureServers = Effect.fnUntraced(function* (
  { price_in, price_out }: RunConfig["model"]["generator"],
  policy: RemotePolicy.RemoteGenerator,
  servers: ServerSet,
  handles: readonly ServerHandle[],
) {
  const { addMetrics } = yield* Servers;
  yield* addMetrics(() =>
    serverMetrics({
      tokens: policy.counts(),
      requests: servers.counts,
      waiting: servers.router.waiting,
      loads: handles.map(({ load }) => load),
      prices: { in: price_in, out: price_out },
    }),
  );
});

/** Opens servers that start from `model`'s weights as `version`. `folder` is the run's own. */
export const openServers = Effect.fnUntraced(function* (
  engine: ServerEngine,
  config: RunConfig,
  model: Model,
  version: Version,
  folder: string,
): Effect.fn.Return<Generator, BadInput | PolicyError, Scope.Scope> {
  const { generation, model: keys } = config;
  const requirements = requirementsOf(config, model);
  const run = `millrace-${randomBytes(4).toString("hex")}`;
  const directory = weightsFolder(keys.generator.weights_dir, folder, run);
  const versions = {
    directory,
    version,
    layout: "untied",
    newest: VERSIONS_ON_DISK,
    probe: requirements.probe,
  } as const;
  const publisher = yield* Publisher.make({ ...versions, model });
  const { servers, handles } = yield* connectServers(engine, config, requirements, run, publisher);
  const { maxPositions } = model.checkpoint.config;
  const policy = RemotePolicy.make({
    servers,
    publisher,
    stopIds: new Set(model.stopIds),
    stops: StopMatcher.matchers(generation.stop, model.tokenizer.bytesOf),
    stopTexts: generation.stop,
    vocabSize: requirements.vocabSize,
    mostPositions: () => Math.min(maxPositions, ...handles.map(({ positions }) => positions)),
    requestTokens: keys.generator.request_tokens,
    keepsCaches: generation.kv_on_update === "keep",
  });
  yield* measureServers(keys.generator, policy, servers, handles);
  return policy;
});
