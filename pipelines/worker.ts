/**
 * `millrace worker`: joins a run that a learner trains on another machine, and plays its groups with generators and environments of this one.
 * The run tells what to play and by which weights; this machine says how much at once. Credentials come from the environment: every user of
 * a machine sees its command lines.
 */
import { homedir, hostname } from "node:os";
import { join } from "node:path";
import process from "node:process";
import { Console, Context, Effect, Layer, type Scope } from "effect";
import { cacheRows } from "../src/config/maxPermits.ts";
import type { RunConfig } from "../src/config/RunConfig.ts";
import { resolveLayers } from "../src/config/resolve.ts";
import { isTree } from "../src/config/Tree.ts";
import type { Version } from "../src/domain/Episode.ts";
import { BadInput, PolicyError } from "../src/domain/Errors.ts";
import * as Backend from "../src/engine/Backend.ts";
import { gamesUrl } from "../src/env/games/registry.ts";
import * as Pool from "../src/env/pool/layer.ts";
import * as Permits from "../src/flow/admission/Permits.ts";
import { localGenerator } from "../src/generation/Generator.ts";
import { Policy } from "../src/generation/Policy.ts";
import * as StartingModel from "../src/model/StartingModel.ts";
import { withEpisodeEnds } from "../src/remote/workers/EpisodeBudget.ts";
import type { RunDescription } from "../src/remote/workers/Messages.ts";
import * as Fetcher from "../src/remote/workers/ModelFetcher.ts";
import { workerNamePattern } from "../src/remote/workers/nats/names.ts";
import * as Worker from "../src/remote/workers/Worker.ts";
import * as ContentKeys from "../src/rollout/contentKeys.ts";
import * as GroupProgram from "../src/rollout/group.ts";
import * as Rollout from "../src/rollout/Rollout.ts";
import { Stop } from "../src/support/process/Stop.ts";
import { checkPresets, playedEnvironments } from "./presets.ts";

export interface WorkerCommand {
  /** Address of the broker. */
  readonly join: string;
  /** Null takes the one run that is trained there. */
  readonly run: string | null;
  readonly name: string | null;
  readonly cache: string | null;
  readonly tlsCa: string | null;
  readonly tlsCert: string | null;
  readonly tlsKey: string | null;
  readonly stopSeconds: number;
  readonly stays: boolean;
  /** Overrides of the keys that size this machine's work. */
  readonly overrides: readonly string[];
}

/** Keys that are each machine's own, beside those that begin with `stepKeys`. */
const machineKeys: readonly string[] = [
  ...["generator_threads", "runtime", "device", "generator_device", "generator_dtype"].map((key) => `model.${key}`),
  ...["slots", "prefill_tokens"].map((key) => `generation.${key}`),
];
const stepKeys = "pipeline.step_";

const checkMachineKeys = (overrides: readonly string[]): Effect.Effect<void, BadInput> => {
  const other = overrides
    .map((text) =>
      text
        .replace(/^(\+\+?|~)/, "")
        .split("=", 1)
        .join(""),
    )
    .find((key) => !machineKeys.includes(key) && !key.startsWith(stepKeys));
  if (other === undefined) return Effect.void;
  const message = `worker: ${other}: the run says what is played, and how; a worker's own keys are ${machineKeys.join(", ")} and ${stepKeys}*`;
  return Effect.fail(new BadInput({ message }));
};

const variable = (name: string): string | undefined => process.env[name] || undefined;

/** The worker's name at the broker. A user's name is its own; else the machine and the process tell workers apart. */
const nameOf = Effect.fnUntraced(function* (given: string | null, user: string | undefined) {
  const name =
    given ??
    user ??
    `${hostname()
      .replace(/[^\w-]+/g, "-")
      .slice(0, 40)}-${process.pid}`;
  if (workerNamePattern.test(name)) return name;
  return yield* new BadInput({
    message: `${given === null ? "MILLRACE_NATS_USER" : "--name"}: ${JSON.stringify(name)}: letters, digits, - and _, 60 at most; nearest: ${name.replace(/[^\w-]+/g, "-").slice(0, 60) || "worker"}`,
  });
});

/** The run file of a run, with what this machine changes. */
const configOf = Effect.fnUntraced(function* ({ config, run }: RunDescription, overrides: readonly string[]) {
  if (!isTree(config)) return yield* new BadInput({ message: `${run}: its description holds no run file` });
  return (yield* resolveLayers([{ origin: `the run ${run}`, tree: config }], overrides)).config;
});

/** The model of a version, its files fetched; with an adapter the base beside it is kept. */
const modelOf = Effect.fnUntraced(function* (
  fetcher: Fetcher.ModelFetcher,
  { kind }: RunDescription,
  config: RunConfig,
  version: Version,
) {
  const base = kind === "adapter" ? yield* fetcher.fetchModel : null;
  const folder = yield* fetcher.fetchVersion(version);
  const { lora } = config.model;
  const loading =
    base === null
      ? StartingModel.load(folder, { adapter: "", lora: { ...lora, rank: 0 } }, config.run.seed)
      : StartingModel.load(base, { adapter: folder, lora }, config.run.seed);
  return yield* Effect.ensuring(loading, fetcher.remove(folder));
});

/** Generators and environments of this machine for a run, from a version of its weights on. */
const groupPlayerOf = Effect.fnUntraced(function* (
  command: WorkerCommand,
  about: RunDescription,
  version: Version,
): Effect.fn.Return<Worker.GroupRunner, Worker.GroupRunnerError, Scope.Scope> {
  const config = yield* configOf(about, command.overrides);
  const tags = Backend.tagsOf(config);
  yield* checkPresets(config, tags);
  const environments = yield* playedEnvironments(config, tags);
  const fetcher = yield* Fetcher.make({
    description: about,
    cache: command.cache ?? join(homedir(), ".cache", "millrace", "worker"),
    token: variable("MILLRACE_TOKEN") ?? null,
    ca: command.tlsCa,
  });
  const model = yield* modelOf(fetcher, about, config, version);
  const policy = yield* localGenerator(config, model, version);
  const { config: decoder, tokens } = model.checkpoint;
  yield* fetcher.start(policy.ports, { config: decoder, tokens });
  const stepping = yield* Layer.build(Pool.layer(config, environments, gamesUrl));
  const heldOut = yield* Effect.provideContext(ContentKeys.validationContentKeys(config), stepping);
  const services = Context.add(stepping, Policy, policy);
  const rollout = yield* Backend.makeRollout(config, model, environments.texts);
  const slots = cacheRows(config);
  const mode: Rollout.PlayMode = {
    ...Rollout.trainingMode(config, heldOut),
    wrapEpisode: Permits.limitTo(slots),
  };
  return {
    slots,
    groupSize: config.es_manager.train.group_size,
    play: (prompt, ended) =>
      Effect.provideContext(GroupProgram.play(rollout, withEpisodeEnds(mode, ended), prompt), services),
    adopt: fetcher.adopt,
    awaitVersion: policy.awaitVersion,
    sampled: Effect.map(policy.gauges, ({ sampledTokens: tokens, version }) => ({ tokens, version })),
    died: Effect.raceFirst(policy.died, fetcher.died),
  };
});

export const worker = Effect.fn("pipelines.worker")(function* (command: WorkerCommand) {
  const { join: url, overrides, run, stays, stopSeconds, tlsCa, tlsCert, tlsKey } = command;
  yield* checkMachineKeys(overrides);
  if (!/^(nats|tls):\/\/[^\s/?#@,]+:\d{1,5}$/.test(url)) {
    return yield* new BadInput({
      message: `--join: ${JSON.stringify(url)}: expected nats://host:4222 or tls://host:4222`,
    });
  }
  const { open } = yield* Effect.promise(() => import("../src/remote/workers/nats/NatsWorker.ts"));
  const user = variable("MILLRACE_NATS_USER");
  const name = yield* nameOf(command.name, user);
  const say = (line: string): void => void process.stderr.write(`${name}: ${line}\n`);
  const broker = yield* open({
    url,
    run,
    worker: name,
    credentials: { user, password: variable("MILLRACE_NATS_PASSWORD"), token: variable("MILLRACE_NATS_TOKEN") },
    tls: { ca: tlsCa ?? "", cert: tlsCert ?? "", key: tlsKey ?? "" },
    tell: ({ name: server, state }) => say(state._tag === "Up" ? `${server}: connected` : `${server}: ${state.why}`),
  }).pipe(Effect.mapError(({ message }) => new BadInput({ message: `--join: ${message}` })));
  const stop = yield* Stop;
  yield* Console.log(`worker ${name} of ${broker.run} at ${url}; Ctrl-C ends it`);
  const why = yield* Worker.run({
    name,
    broker,
    makeRunner: (about, version) =>
      Effect.catchTag(groupPlayerOf(command, about, version), "BadInput", ({ message }) =>
        Effect.fail(new BadInput({ message: `this machine cannot play ${about.run}: ${message}` })),
      ),
    stopRequested: stop.requested,
    stopTimeoutMs: 1_000 * stopSeconds,
    waitsForRestart: stays,
    print: say,
  }).pipe(
    Effect.catchTags({
      WrongProtocol: ({ message }) => Effect.fail(new BadInput({ message })),
      ShutOut: ({ message }) => Effect.fail(new PolicyError({ reason: "session_failed", message })),
    }),
  );
  yield* Console.log(why === "ended" ? `${broker.run} has ended` : "stopped");
}, Effect.scoped);
