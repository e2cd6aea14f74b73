/**
 * Who holds what memory in a training run: one small function for each kind of owner, each with the bytes of every thing it holds and when.
 * The sums are `Plan.ts`'s. A change of what a part of the program keeps is a change of its function here.
 * Invariant: everything comes from the run file and the decoder's sizes; no file of weights is read.
 */
import { isGeneratorRemote } from "../../config/checks/generator.ts";
import { isLearnerRemote } from "../../config/checks/learner.ts";
import type { RunConfig } from "../../config/RunConfig.ts";
import { criticConfig } from "../../learner/Critic.ts";
import { needsProximal } from "../../learner/corrections/correct.ts";
import { isPlanned } from "../../learner/lanes/Lane.ts";
import { type DecoderConfig, parameterCount } from "../../model/graphs/Architecture.ts";
import { codedIn } from "../../model/graphs/NumberFormat.ts";
import { frozenParameters, trainedCriticParameters, trainedParameters } from "../../model/graphs/Trained.ts";
import type { Sizes } from "../../model/tensor/Liveness.ts";
import type { ModelName, Models } from "./Models.ts";
import { allocation, type SessionBytes, sessionBytes } from "./Sessions.ts";
import { generatorShape, passShape } from "./Shapes.ts";

/**
 * When memory is taken: from the start to the end, while passes of an update run, while new weights go to the generators after it, or while
 * episodes are generated.
 */
export type During = "always" | "update" | "handover" | "rollout";

export interface Item {
  /** The thread that holds it. */
  readonly owner: string;
  readonly what: string;
  readonly bytes: number;
  readonly during: During;
}

/** What the owners are asked about. */
export interface Asked {
  readonly config: RunConfig;
  readonly decoder: DecoderConfig;
  readonly models: Models;
  /** Bytes of the tokenizer's file. */
  readonly tokenizerBytes: number;
}

const MiB = 2 ** 20;
const FLOAT = Float32Array.BYTES_PER_ELEMENT;

/** Resident bytes of a thread before it holds anything of a model (docs/plan.md). */
export const baseline = { main: 130 * MiB, learner: 70 * MiB, lane: 50 * MiB, generator: 55 * MiB, step: 50 * MiB };

/** A tokenizer's maps over the bytes of its file. */
const TOKENIZER = 12;

/** An episode in flight beside its tokens, and a token of one: its id, log-probability, version and mask. */
const EPISODE = 10_000;
const TOKEN = 16;

export const hasCritic = ({ algorithm }: RunConfig): boolean => algorithm.adv_estimator === "gae";
const hasReference = ({ actor, algorithm }: RunConfig): boolean => actor.use_kl_loss || algorithm.use_kl_in_reward;
/** An adapter switched off is the reference itself, unless it is renewed. */
export const hasOwnReference = ({ config, decoder }: Asked): boolean =>
  hasReference(config) && (decoder.adapter === undefined || config.actor.ref_update_freq > 0);
const isScored = (config: RunConfig): boolean => hasReference(config) || needsProximal(config.algorithm.correction);

/** Bytes of what generators read in 8-bit codes, with their scales, and of the float32 matrices that are not read beside them. */
const codedBytes = ({ config, decoder }: Pick<Asked, "config" | "decoder">) => {
  const coded = codedIn(config.model.generator_dtype, decoder);
  const sum = (of: (each: (typeof coded)[number]) => number) => coded.reduce((total, each) => total + of(each), 0);
  return {
    codes: sum(({ shape: [out, width] }) => out * width + FLOAT * out),
    replaced: sum(({ name, of, shape: [out, width] }) => (name === of ? FLOAT * out * width : 0)),
  };
};

/** Bytes of weights that a decode step reads. */
export const readBytes = (asked: Pick<Asked, "config" | "decoder">): number => {
  const { codes, replaced } = codedBytes(asked);
  return weightBytes(asked).read - replaced + codes;
};

/** Bytes of what an update changes, of the policy and of the critic, of what stays beside an adapter, and of all that a policy reads. */
export const weightBytes = ({ config, decoder }: Pick<Asked, "config" | "decoder">) => {
  const valued = criticConfig(decoder, config.critic);
  const [policy, frozen] = [trainedParameters(decoder), frozenParameters(decoder)].map(
    (specs) => FLOAT * parameterCount(specs),
  ) as [number, number];
  return {
    policy,
    critic: hasCritic(config) ? FLOAT * parameterCount(trainedCriticParameters(valued)) : 0,
    frozen,
    read: policy + frozen,
  };
};

/** The sessions that a learner's thread runs in an update, with their largest run. */
export const learnerSessions = ({ config, decoder, models }: Asked): ReadonlyMap<ModelName, SessionBytes> => {
  const { sizes } = passShape(config);
  const names: readonly ModelName[] = [
    "actor",
    ...(isScored(config) ? (["score"] as const) : []),
    ...(hasCritic(config) ? (["critic", "values"] as const) : []),
  ];
  return new Map(
    names.map((name) => {
      const model = models.get(name, decoder, config);
      return [name, sessionBytes(model, sizes, { arena: true, pattern: isPlanned(model) })];
    }),
  );
};

/** The sessions of a generator's thread. */
export const generatorSessions = ({ config, decoder, models }: Asked): ReadonlyMap<ModelName, SessionBytes> => {
  const { capacity, extend, prefill, rows } = generatorShape(config);
  const of = (name: ModelName, sizes: Sizes) => [name, sessionBytes(models.get(name, decoder, config), sizes)] as const;
  return new Map([
    of("prefill", { ...prefill }),
    ...(extend === undefined ? [] : [of("extend", { ...extend })]),
    of("step", { batch: Math.max(2, rows), capacity }),
  ]);
};

/** A thread's sessions: their structures, the values of their runs and the results. With arenas each keeps its own. */
const sessionItems = (
  owner: string,
  sessions: ReadonlyMap<ModelName, SessionBytes>,
  during: "update" | "rollout",
): readonly Item[] => {
  const all = [...sessions];
  const most = (of: (session: SessionBytes) => number) => Math.max(0, ...all.map(([, session]) => of(session)));
  const held = all.reduce((sum, [, session]) => sum + session.held, 0);
  const values: readonly Item[] = allocation.arena
    ? all.map(([name, session]) => ({ owner, what: `activations: ${name}`, bytes: session.values, during: "always" }))
    : [{ owner, what: "activations", bytes: most(({ values }) => values), during }];
  return [
    { owner, what: "sessions", bytes: held, during: "always" },
    ...values,
    { owner, what: "results of a run", bytes: most(({ results }) => results), during },
  ];
};

const mainItems = (asked: Asked): readonly Item[] => {
  const { config, tokenizerBytes } = asked;
  const { rows } = generatorShape(config);
  const { frozen } = weightBytes(asked);
  const episodes = rows * config.model.generator_threads;
  const owner = "main thread";
  return [
    { owner, what: "runtime", bytes: baseline.main, during: "always" },
    { owner, what: "tokenizer", bytes: TOKENIZER * tokenizerBytes, during: "always" },
    { owner: "all threads", what: "weights beside the adapter", bytes: frozen, during: "always" },
    {
      owner: "generators",
      what: "weights beside the adapter, in 8 bits",
      bytes: asked.decoder.adapter === undefined ? 0 : codedBytes(asked).codes,
      during: "always",
    },
    {
      owner,
      what: "episodes in flight",
      bytes: episodes * (EPISODE + TOKEN * config.rollout.max_model_len),
      during: "always",
    },
  ];
};

const networkItems = (asked: Asked): readonly Item[] => {
  const { config } = asked;
  const { critic, policy } = weightBytes(asked);
  const owner = "learner";
  const more = passShape(config).passes > 1;
  const item = (what: string, bytes: number, during: During = "always"): Item => ({ owner, what, bytes, during });
  return [
    item("policy: weights", policy),
    item("policy: moments", 2 * policy),
    ...(hasOwnReference(asked) ? [item("reference: weights", policy)] : []),
    ...(critic === 0 ? [] : [item("critic: weights", critic), item("critic: moments", 2 * critic)]),
    ...(more ? [item("sum of gradients", Math.max(policy, critic), "update")] : []),
  ];
};

/** Of a learner that trains on a server its thread alone: no network is here. */
const learnerItems = (asked: Asked): readonly Item[] => [
  { owner: "learner", what: "runtime", bytes: baseline.learner, during: "always" },
  ...(isLearnerRemote(asked.config.model)
    ? []
    : [...networkItems(asked), ...sessionItems("learner", learnerSessions(asked), "update")]),
];

/** Lanes beside the learner's own: each pass brings them a copy of the weights. */
const laneItems = (asked: Asked): readonly Item[] => {
  const { critic, policy } = weightBytes(asked);
  const sessions = learnerSessions(asked);
  const weights = Math.max(policy, critic);
  return Array.from({ length: asked.config.model.learner_lanes - 1 }, (_, i) => `learner lane ${i + 2}`).flatMap(
    (owner): readonly Item[] => [
      { owner, what: "runtime", bytes: baseline.lane, during: "always" },
      { owner, what: "weights of a pass", bytes: weights, during: "update" },
      // What it has handed over and what it makes: `perRemote` micro-batches.
      { owner, what: "gradients on their way", bytes: weights, during: "update" },
      ...sessionItems(owner, sessions, "update"),
    ],
  );
};

/** Bytes of a cache of so many rows and positions. */
export const cacheBytes = ({ headDim, kvHeads, layers }: DecoderConfig, rows: number, capacity: number): number =>
  2 * layers * kvHeads * headDim * rows * capacity * FLOAT;

/** The thread that writes each version for servers: what it is sent, and the same with an output matrix of its own. */
const publisherItems = (asked: Asked): readonly Item[] => {
  const { policy } = weightBytes(asked);
  const owner = "weights for servers";
  return [
    { owner, what: "runtime", bytes: baseline.generator, during: "always" },
    { owner, what: "version being written", bytes: 2 * policy, during: "handover" },
  ];
};

const generatorItems = (asked: Asked): readonly Item[] => {
  const { config, decoder } = asked;
  if (config.model.generator.engine === "tinker") return [];
  if (isGeneratorRemote(config.model)) return publisherItems(asked);
  const { policy } = weightBytes(asked);
  const { codes, replaced } = codedBytes(asked);
  const version = decoder.adapter === undefined ? policy - replaced + codes : policy;
  const { capacity, extend, prefixes, rows } = generatorShape(config);
  const sessions = generatorSessions(asked);
  const bytesOf = (count: number, positions: number) => cacheBytes(decoder, count, positions);
  // Among several threads each keeps the version before the newest, too.
  const weights = config.model.generator_threads > 1 ? 2 * version : version;
  return Array.from({ length: config.model.generator_threads }, (_, i) => `generator ${i + 1}`).flatMap(
    (owner): readonly Item[] => [
      { owner, what: "runtime", bytes: baseline.generator, during: "always" },
      { owner, what: "weights", bytes: weights, during: "always" },
      { owner, what: "weights, offered", bytes: policy, during: "handover" },
      { owner, what: "keys and values", bytes: bytesOf(rows, capacity), during: "always" },
      { owner, what: "shared prefixes", bytes: bytesOf(prefixes.rows, prefixes.capacity), during: "always" },
      {
        owner,
        what: "pasts of a prefill",
        bytes: extend === undefined ? 0 : bytesOf(extend.batch, extend.capacity),
        during: "always",
      },
      ...sessionItems(owner, sessions, "rollout"),
    ],
  );
};

const stepItems = ({ config: { pipeline } }: Asked): readonly Item[] =>
  pipeline.step_inline
    ? []
    : [{ owner: "step threads", what: "runtime", bytes: pipeline.step_threads * baseline.step, during: "always" }];

/** Everything that a training run holds. */
export const items = (asked: Asked): readonly Item[] =>
  [mainItems, learnerItems, laneItems, generatorItems, stepItems]
    .flatMap((owner) => owner(asked))
    .filter(({ bytes }) => bytes > 0);
