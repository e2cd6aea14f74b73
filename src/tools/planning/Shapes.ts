/**
 * The largest shapes that a run gives its models. Episodes are taken to fill their context, or prompt and reply where they have one turn
 * and a known prompt. Replies are taken to fill their length. Every other assumption that is not in the run file is named here.
 */
import { hasAgent } from "../../config/agentForms.ts";
import { groupsInFlight } from "../../config/maxPermits.ts";
import { bucket as padded, sharedPassesOf } from "../../domain/Passes.ts";
import { rowBucket } from "../../generation/CachedModel.ts";
import { toBucket as positions } from "../../generation/KeyValueCache.ts";
import { TIME_BUCKET } from "../../generation/Packing.ts";
import { prefixRows } from "../../generation/Scheduler.ts";
import type { Sizes } from "../../model/tensor/Liveness.ts";
import { sharingSize } from "../../rollout/textDialogue.ts";
import type { PlannedRun } from "./PlannedRun.ts";

/**
 * Tokens before each reply of an episode, as few as the environments and templates here have: the end of the reply before, and what the
 * environment shows. The fewer they are, the more of an episode is trained on.
 */
const BEFORE_REPLY = 24;

const upTo = (count: number, multiple: number): number => Math.ceil(count / multiple) * multiple;

/** The largest pass of an update. */
export interface PassShape {
  /** The sizes that its models take: padded positions, and trained tokens. */
  readonly sizes: Sizes;
  /** Positions of its sequences, a prompt that several share counted for each. */
  readonly tokens: number;
  /** Passes of a mini-batch. */
  readonly passes: number;
}

/** Turns of an episode at most: an agent's are its calls. */
const mostTurns = ({ config: { agent, rollout } }: PlannedRun): number =>
  hasAgent(agent) ? Math.max(agent.max_calls, rollout.max_turn) : rollout.max_turn;

/** Positions of the longest sequence. */
const longest = (run: PlannedRun): number => {
  const { max_model_len, response_length } = run.config.rollout;
  const { promptTokens } = run;
  return mostTurns(run) > 1 || promptTokens === null
    ? max_model_len
    : Math.min(max_model_len, promptTokens + response_length);
};

/** Positions before the last reply of the longest sequence. */
const beforeLastReply = (run: PlannedRun): number => Math.max(1, longest(run) - run.config.rollout.response_length);

/** Positions before its first reply. */
const opening = (run: PlannedRun): number => Math.min(run.promptTokens ?? Infinity, beforeLastReply(run));

/** Replies of one sequence at most. */
const turnsOf = (run: PlannedRun): number =>
  Math.min(mostTurns(run), Math.ceil(longest(run) / (run.config.rollout.response_length + BEFORE_REPLY)));

/** Tokens of one sequence that are trained on at most. */
const trained = (run: PlannedRun): number => {
  const { enable_response_mask, response_length } = run.config.rollout;
  return enable_response_mask ? Math.min(longest(run), turnsOf(run) * response_length) : longest(run);
};

/** Tokens of one sequence from its first reply on at most. */
const continued = (run: PlannedRun): number => {
  const { enable_response_mask, response_length } = run.config.rollout;
  const length = turnsOf(run) * (response_length + BEFORE_REPLY) - BEFORE_REPLY;
  const most = run.promptTokens === null ? longest(run) - 1 : longest(run) - opening(run);
  return Math.min(most, enable_response_mask ? length : longest(run));
};

/** Sequences of one optimiser step. */
const stepSequences = ({ config: { actor, es_manager, sft }, pipeline }: PlannedRun): number => {
  const { env_groups, group_size } = es_manager.train;
  return pipeline === "sft" ? sft.batch_size : Math.min(env_groups * group_size, actor.ppo_mini_batch_size);
};

/** The largest passes over `sequences` of groups of `members` that share a prompt. */
const sharedShape = (run: PlannedRun, sequences: number, groupSize: number): PassShape => {
  const behind = continued(run);
  const families = Array.from({ length: Math.ceil(sequences / groupSize) }, () => ({
    prompt: longest(run) - behind,
    continuations: Array.from({ length: Math.min(groupSize, sequences) }, () => behind),
  }));
  const passes = sharedPassesOf(families, run.config.actor.micro_batch_tokens);
  const [first] = passes;
  if (first === undefined) throw new RangeError("a mini-batch without sequences");
  const { members, prompt, time } = first;
  const groups = first.groups.length;
  const rows = groups * members;
  const targets = upTo(Math.max(1, rows * trained(run)), 64);
  return {
    sizes: { groups, members, prompt, time, targets },
    tokens: rows * (prompt + time),
    passes: passes.length,
  };
};

const wholeShape = (run: PlannedRun, sequences: number): PassShape => {
  const time = padded(longest(run));
  const fit = Math.max(1, Math.floor(run.config.actor.micro_batch_tokens / time));
  const batch = Math.min(fit, sequences);
  const targets = upTo(Math.max(1, batch * trained(run)), 64);
  return { sizes: { batch, time, targets }, tokens: batch * time, passes: Math.ceil(sequences / batch) };
};

/** The largest pass of an optimiser step. Cloned episodes belong to no group. */
export const passShape = (run: PlannedRun): PassShape => {
  const { actor, es_manager } = run.config;
  return actor.use_prefix_grouper && run.pipeline !== "sft"
    ? sharedShape(run, stepSequences(run), es_manager.train.group_size)
    : wholeShape(run, stepSequences(run));
};

/** True when all passes have nearly the same sizes: each has the prompts of one turn, which groups share. */
export const isOfOneShape = ({ config: { actor }, pipeline, promptTokens }: PlannedRun): boolean =>
  pipeline === "train" && actor.use_prefix_grouper && promptTokens !== null;

/** The pass over one sequence that shows before a checkpoint whether the weights give finite numbers. */
export const probeSizes = (run: PlannedRun): Sizes =>
  (run.config.actor.use_prefix_grouper ? sharedShape(run, 1, 1) : wholeShape(run, 1)).sizes;

export interface GeneratorShape {
  /** Sequences that have a cache row at once. */
  readonly rows: number;
  /** Positions of a row. */
  readonly capacity: number;
  /** Shared prefixes kept, and the positions of each. */
  readonly prefixes: { readonly rows: number; readonly capacity: number };
  /** The largest step that starts sequences. */
  readonly prefill: { readonly batch: number; readonly time: number };
  /** The largest step that continues sequences; undefined where none does. */
  readonly extend: { readonly batch: number; readonly time: number; readonly capacity: number } | undefined;
}

/** Episodes that are played at once. */
const episodesInFlight = ({ config, pipeline }: PlannedRun): number => {
  const { es_manager, generation, model } = config;
  const { train, val } = es_manager;
  const validated = Math.min(val.env_groups * val.group_size, generation.slots * model.generator_threads);
  return pipeline === "evaluate" ? validated : Math.max(groupsInFlight(config) * train.group_size, validated);
};

/**
 * The shape of one generator thread, if sequences spread evenly. A group's prompts are fed once, together; later turns extend them. Whole
 * sequences are fed again only if more episodes are under way than have rows, or new weights renew caches.
 */
export const generatorShape = (run: PlannedRun): GeneratorShape => {
  const { es_manager, generation, model } = run.config;
  const { kv_on_update, prefill_tokens, slots } = generation;
  const ofRows = (count: number) => upTo(count, rowBucket(slots));
  const episodes = Math.ceil(episodesInFlight(run) / model.generator_threads);
  const groups = Math.ceil(groupsInFlight(run.config) / model.generator_threads);
  const rows = Math.min(ofRows(slots), ofRows(episodes));
  const prompts = es_manager.train.group_size < sharingSize ? rows : Math.min(prefixRows(slots), groups);
  const isFedAgain = mostTurns(run) > 1 && (episodes > slots || kv_on_update === "recompute");
  const fed = Math.min(isFedAgain ? beforeLastReply(run) : opening(run), prefill_tokens);
  const time = upTo(fed, TIME_BUCKET);
  const fedRows = Math.min(isFedAgain ? rows : prompts, Math.floor(prefill_tokens / time));
  const isLong = opening(run) > prefill_tokens;
  const laterTime = upTo(
    isLong || isFedAgain ? Math.min(beforeLastReply(run), prefill_tokens) : BEFORE_REPLY,
    TIME_BUCKET,
  );
  return {
    rows,
    capacity: positions(longest(run)),
    prefixes: { rows: Math.min(prefixRows(slots), ofRows(groups)), capacity: positions(opening(run)) },
    prefill: { batch: Math.max(2, fedRows), time },
    extend:
      mostTurns(run) > 1 || isLong
        ? {
            batch: Math.max(2, Math.min(rows, Math.floor(prefill_tokens / laterTime))),
            time: laterTime,
            capacity: positions(longest(run)),
          }
        : undefined,
  };
};
