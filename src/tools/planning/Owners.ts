/**
 * The owners of a run's memory: one small function for each kind of owner, with the bytes of everything it holds and when. `Plan.ts` sums
 * them up. When a part of the program keeps other things, its function here changes: nothing else predicts memory.
 */
import { isGeneratorRemote } from "../../config/checks/generator.ts";
import { isLearnerRemote } from "../../config/checks/learner.ts";
import { isFixedLag, keptVersions } from "../../config/fixedLag.ts";
import type { RunConfig } from "../../config/RunConfig.ts";
import { prepacksWeights } from "../../generation/prepacking.ts";
import { criticConfig } from "../../learner/Critic.ts";
import { needsProximal } from "../../learner/corrections/correct.ts";
import { isPlanned } from "../../learner/lanes/Lane.ts";
import { type DecoderConfig, type ParameterSpec, parameterCount } from "../../model/graphs/Architecture.ts";
import { codedBytes, codedSpecs } from "../../model/graphs/NumberFormat.ts";
import { frozenParameters, trainedCriticParameters, trainedParameters } from "../../model/graphs/TrainedParameters.ts";
import type { Sizes } from "../../model/tensor/Liveness.ts";
import type { ModelName, Models } from "./Models.ts";
import type { PlannedRun } from "./PlannedRun.ts";
import { type SessionBytes, sessionBytes } from "./Sessions.ts";
import { generatorShape, isOfOneShape, passShape, probeSizes } from "./Shapes.ts";
import { threadsOf } from "./threadsOf.ts";

/**
 * When memory is taken: from the start to the end, while an update runs and its weights go to the generators, or while episodes are generated.
 * JavaScript may not have collected the arrays of an update's passes when it hands its weights over, so both are one time.
 */
export type During = "always" | "update" | "rollout";

export interface Item {
  /** The thread that holds it. */
  readonly owner: string;
  readonly what: string;
  readonly bytes: number;
  readonly during: During;
}

const MiB = 2 ** 20;
const FLOAT = Float32Array.BYTES_PER_ELEMENT;

/**
 * Resident bytes of a thread before it holds anything of a model, its share of JavaScript's heap while it works included; the main thread's has
 * what all share: Node, onnxruntime and the libraries (docs/plan.md).
 */
const baseline = { main: 260 * MiB, learner: 95 * MiB, lane: 70 * MiB, generator: 85 * MiB, step: 46 * MiB };

/** A tokenizer's maps over the bytes of its file. */
const TOKENIZER = 12;

/** An episode beside its tokens, and a token of one: its id, log-probability, version and mask. */
const EPISODE = 10_000;
const TOKEN = 16;

/** Weights versions that play the open windows of a run with a fixed lag; 0 of any other run. */
export const laggedVersions = ({ config, pipeline }: PlannedRun): number =>
  pipeline === "train" && isFixedLag(config) ? keptVersions(config) : 0;

const hasCritic = ({ algorithm }: RunConfig): boolean => algorithm.adv_estimator === "gae";
const hasReference = ({ actor, algorithm }: RunConfig): boolean => actor.use_kl_loss || algorithm.use_kl_in_reward;
/** An adapter switched off is the reference itself, unless it is renewed. */
export const hasOwnReference = ({ config, decoder }: PlannedRun): boolean =>
  hasReference(config) && (decoder.adapter === undefined || config.actor.ref_update_freq > 0);
const isScored = (config: RunConfig): boolean => hasReference(config) || needsProximal(config.algorithm.correction);

/** Bytes of what generators read in 8-bit codes, with their scales, and of the float32 matrices that are not read beside them. */
const codedWeights = ({ config, decoder }: PlannedRun) => {
  const coded = codedSpecs(config.model.generator_dtype, decoder);
  const sum = (part: (each: (typeof coded)[number]) => number) => coded.reduce((total, each) => total + part(each), 0);
  return {
    codes: sum(codedBytes),
    replaced: sum(({ name, parameter, shape: [out, width] }) => (name === parameter ? FLOAT * out * width : 0)),
  };
};

/** Bytes of weights that a decode step reads. */
export const readBytes = (run: PlannedRun): number => {
  const { codes, replaced } = codedWeights(run);
  const { frozen, policy } = weightBytes(run);
  return policy + frozen - replaced + codes;
};

/** Bytes of what an update changes, of the policy and of the critic, and of what stays beside an adapter. */
export const weightBytes = ({ config, decoder }: PlannedRun) => {
  const bytesOf = (specs: readonly ParameterSpec[]): number => FLOAT * parameterCount(specs);
  const valued = criticConfig(decoder, config.critic);
  return {
    policy: bytesOf(trainedParameters(decoder)),
    critic: hasCritic(config) ? bytesOf(trainedCriticParameters(valued)) : 0,
    frozen: bytesOf(frozenParameters(decoder)),
  };
};

/** Bytes that sessions take for packed codes over the codes with their scales: measured with 135 M parameters. */
const PACKED_CODES = 1.6;
/** The same for packed float32 over the weights: what packing leaves in the heap is counted. */
const PACKED_FLOATS = 1.15;

/**
 * Bytes that a generator's two sessions hold packed: the frozen weights beside an adapter, or else a whole version. In float32 a tied
 * embedding is in each once more, as the rows that it looks up.
 */
const prepackedBytes = (run: PlannedRun): number => {
  const { config, decoder } = run;
  if (config.model.generator_dtype === "int8") return 2 * PACKED_CODES * codedWeights(run).codes;
  if (!prepacksWeights(config.model, decoder, run.pipeline === "evaluate" ? "fixed" : "changing")) return 0;
  const { frozen, policy } = weightBytes(run);
  const embedding = decoder.tieEmbedding ? FLOAT * decoder.vocabSize * decoder.hiddenSize : 0;
  return 2 * PACKED_FLOATS * ((decoder.adapter === undefined ? policy : frozen) + embedding);
};

type Sessions = ReadonlyMap<ModelName, SessionBytes>;

const learnerSession = (
  { config, decoder }: PlannedRun,
  models: Models,
  name: ModelName,
  sizes: Sizes | null,
  isOfOneShape: boolean,
) => {
  const model = models.get(name, decoder, config);
  const use = isPlanned(model) ? "planned" : isOfOneShape ? "one shape" : "several shapes";
  return [name, sessionBytes(model, sizes, use)] as const;
};

/** The sessions that make an optimiser step, with their largest run. */
export const stepSessions = (run: PlannedRun, models: Models): Sessions => {
  const { config, pipeline } = run;
  const { sizes } = passShape(run);
  const training: readonly ModelName[] = [
    "actor",
    ...(isScored(config) ? (["score"] as const) : []),
    ...(hasCritic(config) ? (["critic", "values"] as const) : []),
  ];
  const names: readonly ModelName[] = pipeline === "sft" ? ["cloning"] : training;
  return new Map(names.map((name) => learnerSession(run, models, name, sizes, isOfOneShape(run))));
};

/**
 * All sessions of a learner. Beside those of its steps, one probes before a checkpoint, on one sequence, that the weights give finite
 * numbers. A learner opens the sessions of updates even where it clones.
 */
const learnerSessions = (run: PlannedRun, models: Models): Sessions => {
  const probe = probeSizes(run);
  const session = (name: ModelName, sizes: Sizes | null) => learnerSession(run, models, name, sizes, true);
  const valued = hasCritic(run.config) ? [session("critic", null), session("values", probe)] : [];
  return new Map([session("actor", null), session("score", probe), ...valued, ...stepSessions(run, models)]);
};

/** The sessions of a generator's thread. */
export const generatorSessions = (run: PlannedRun, models: Models): Sessions => {
  const { config, decoder } = run;
  const { capacity, extend, prefill, rows } = generatorShape(run);
  const session = (name: ModelName, sizes: Sizes) =>
    [name, sessionBytes(models.get(name, decoder, config), sizes, "planned")] as const;
  return new Map([
    session("prefill", { ...prefill }),
    ...(extend === undefined ? [] : [session("extend", { ...extend, tokens: extend.batch * extend.time })]),
    session("step", { batch: Math.max(2, rows), capacity }),
  ]);
};

/** A thread's sessions: their structures, the values of their runs and the results. Each session keeps an arena of its own. */
const sessionItems = (owner: string, sessions: Sessions, during: "update" | "rollout"): readonly Item[] => {
  const all = [...sessions];
  const resident = all.reduce((sum, [, session]) => sum + session.resident, 0);
  const results = Math.max(0, ...all.map(([, session]) => session.results));
  return [
    { owner, what: "sessions", bytes: resident, during: "always" },
    ...all.map(([name, { values }]) => ({
      owner,
      what: `activations: ${name}`,
      bytes: values,
      during: "always" as const,
    })),
    { owner, what: "results of a run", bytes: results, during },
  ];
};

/** Episodes that the main thread holds at once. */
const episodesInMemory = (run: PlannedRun): number =>
  run.pipeline === "sft"
    ? run.config.sft.sources.reduce((sum, { episodes }) => sum + episodes, 0)
    : generatorShape(run).rows * run.config.model.generator_threads;

const mainItems = (run: PlannedRun): readonly Item[] => {
  const { config, decoder, pipeline, tokenizerBytes } = run;
  const { frozen, policy } = weightBytes(run);
  const owner = "main thread";
  const item = (what: string, bytes: number, during: During = "always"): Item => ({ owner, what, bytes, during });
  return [
    item("runtime", baseline.main),
    item("tokenizer", TOKENIZER * tokenizerBytes),
    { owner: "all threads", what: "weights beside the adapter", bytes: frozen, during: "always" },
    {
      owner: "generators",
      what: "weights beside the adapter, in 8 bits",
      bytes: decoder.adapter === undefined || threadsOf(run).generators === 0 ? 0 : codedWeights(run).codes,
      during: "always",
    },
    item("episodes", episodesInMemory(run) * (EPISODE + TOKEN * config.rollout.max_model_len)),
    // A learner takes over the weights that were loaded; an evaluation has none.
    item("weights, loaded", pipeline === "evaluate" ? policy : 0),
    // An sft run reads the cloned weights back from its checkpoint and writes them as a model.
    item("weights, written", pipeline === "sft" ? policy : 0, "update"),
  ];
};

const networkItems = (run: PlannedRun): readonly Item[] => {
  const { critic, policy } = weightBytes(run);
  const owner = "learner";
  const more = passShape(run).passes > 1;
  const item = (what: string, bytes: number, during: During = "always"): Item => ({ owner, what, bytes, during });
  return [
    item("policy: weights", policy),
    item("policy: moments", 2 * policy),
    ...(hasOwnReference(run) ? [item("reference: weights", policy)] : []),
    // A copy of each version that a resumed run may need; without a lead a checkpoint's own weights are all.
    ...(laggedVersions(run) > 1 ? [item("versions of open windows", laggedVersions(run) * policy)] : []),
    ...(critic === 0 ? [] : [item("critic: weights", critic), item("critic: moments", 2 * critic)]),
    ...(more ? [item("sum of gradients", Math.max(policy, critic), "update")] : []),
  ];
};

/** A learner that trains on a server holds its thread alone, since it loads no network. */
const learnerItems = (run: PlannedRun, sessions: Sessions): readonly Item[] => {
  if (threadsOf(run).lanes === 0) return [];
  const runtime: Item = { owner: "learner", what: "runtime", bytes: baseline.learner, during: "always" };
  if (isLearnerRemote(run.config.model)) return [runtime];
  return [runtime, ...networkItems(run), ...sessionItems("learner", sessions, "update")];
};

/** Lanes beside the learner's own: each pass brings them a copy of the weights. */
const laneItems = (run: PlannedRun, sessions: Sessions): readonly Item[] => {
  const others = Math.max(0, threadsOf(run).lanes - 1);
  if (others === 0) return [];
  const { critic, policy } = weightBytes(run);
  const weights = Math.max(policy, critic);
  return Array.from({ length: others }, (_, i) => `learner lane ${i + 2}`).flatMap((owner): readonly Item[] => [
    { owner, what: "runtime", bytes: baseline.lane, during: "always" },
    { owner, what: "weights of a pass", bytes: weights, during: "update" },
    // The lane holds the gradients that it has handed over and those that it makes.
    { owner, what: "gradients on their way", bytes: weights, during: "update" },
    ...sessionItems(owner, sessions, "update"),
  ]);
};

/** Bytes of a cache of so many rows and positions. */
export const cacheBytes = ({ headDim, kvHeads, layers }: DecoderConfig, rows: number, capacity: number): number =>
  2 * layers * kvHeads * headDim * rows * capacity * FLOAT;

/** The thread that writes each version for servers holds the version it is sent, and a copy with an output matrix of its own. */
const publisherItems = (run: PlannedRun): readonly Item[] => {
  const { engine } = run.config.model.generator;
  if (run.pipeline !== "train" || engine === "tinker" || !isGeneratorRemote(run.config.model)) return [];
  const { policy } = weightBytes(run);
  const owner = "weights for servers";
  return [
    { owner, what: "runtime", bytes: baseline.generator, during: "always" },
    { owner, what: "version being written", bytes: 2 * policy, during: "update" },
  ];
};

const generatorItems = (run: PlannedRun, models: Models): readonly Item[] => {
  const { decoder, pipeline } = run;
  const { generators } = threadsOf(run);
  if (generators === 0) return [];
  const isTraining = pipeline === "train";
  const { policy } = weightBytes(run);
  const packed = prepackedBytes(run);
  // A whole version's prepacked weights are in the sessions alone. With int8, those are the coded ones.
  const isDropped = decoder.adapter === undefined && packed > 0;
  const rest = run.config.model.generator_dtype === "int8" ? policy - codedWeights(run).replaced : 0;
  const version = isDropped ? rest : policy;
  const { capacity, extend, prefixes, rows } = generatorShape(run);
  const sessions = generatorSessions(run, models);
  const bytesOf = (count: number, positions: number) => cacheBytes(decoder, count, positions);
  // If there are several threads, each keeps the version before the newest, too.
  const versions = Math.max(laggedVersions(run), isTraining && generators > 1 ? 2 : 1);
  const packedVersions = decoder.adapter === undefined ? versions : 1;
  return Array.from({ length: generators }, (_, i) => `generator ${i + 1}`).flatMap((owner): readonly Item[] => [
    { owner, what: "runtime", bytes: baseline.generator, during: "always" },
    { owner, what: "weights", bytes: versions * version, during: "always" },
    { owner, what: "weights, prepacked", bytes: packedVersions * packed, during: "always" },
    { owner, what: "weights, offered", bytes: isTraining ? policy : 0, during: "update" },
    { owner, what: "keys and values", bytes: bytesOf(rows, capacity), during: "always" },
    { owner, what: "shared prefixes", bytes: bytesOf(prefixes.rows, prefixes.capacity), during: "always" },
    {
      owner,
      what: "pasts of a prefill",
      bytes: extend === undefined ? 0 : bytesOf(extend.batch, extend.capacity),
      during: "always",
    },
    ...sessionItems(owner, sessions, "rollout"),
  ]);
};

const stepItems = (run: PlannedRun): readonly Item[] => [
  { owner: "step threads", what: "runtime", bytes: threadsOf(run).steps * baseline.step, during: "always" },
];

/** Everything that a run holds. */
export const items = (run: PlannedRun, models: Models): readonly Item[] => {
  const isTrainedHere = threadsOf(run).lanes > 0 && !isLearnerRemote(run.config.model);
  // Every lane opens the same ones, and predicting them takes the longest.
  const sessions: Sessions = isTrainedHere ? learnerSessions(run, models) : new Map();
  return [
    ...mainItems(run),
    ...learnerItems(run, sessions),
    ...laneItems(run, sessions),
    ...publisherItems(run),
    ...generatorItems(run, models),
    ...stepItems(run),
  ].filter(({ bytes }) => bytes > 0);
};
