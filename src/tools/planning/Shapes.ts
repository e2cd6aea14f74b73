/**
 * The largest shapes that a run gives its models, from the run file alone: episodes are taken to fill their context, and replies their length.
 * What is not in the run file is an assumption, named here.
 */
import { groupsInFlight } from "../../config/maxPermits.ts";
import type { RunConfig } from "../../config/RunConfig.ts";
import { bucket as padded, sharedPassesOf } from "../../domain/Passes.ts";
import { rowBucket } from "../../generation/CachedModel.ts";
import { toBucket as positions } from "../../generation/KeyValueCache.ts";
import { TIME_BUCKET } from "../../generation/Packing.ts";
import { prefixRows } from "../../generation/Scheduler.ts";
import type { Sizes } from "../../model/tensor/Liveness.ts";

/**
 * Tokens before each reply of an episode, as few as the environments and templates here have: the end of the reply before, and what the
 * environment shows. The fewer they are, the more of an episode is trained on.
 */
const BEFORE_REPLY = 24;

const upTo = (count: number, multiple: number): number => Math.ceil(count / multiple) * multiple;

/** The largest pass of an update. */
export interface PassShape {
  /** What the sizes of its models are: padded positions, and the tokens that it is trained on. */
  readonly sizes: Sizes;
  /** Positions of its sequences, a prompt that several share counted for each. */
  readonly tokens: number;
  /** Passes of a mini-batch. */
  readonly passes: number;
}

/** Positions of the longest sequence. */
const longest = ({ rollout }: RunConfig): number => rollout.max_model_len;

/** Replies of one sequence at most. */
const turnsOf = ({ rollout: { max_model_len, max_turn, response_length } }: RunConfig): number =>
  Math.min(max_turn, Math.ceil(max_model_len / (response_length + BEFORE_REPLY)));

/** Tokens of one sequence that are trained on at most. */
const trained = (config: RunConfig): number => {
  const { enable_response_mask, max_model_len, response_length } = config.rollout;
  return enable_response_mask ? Math.min(max_model_len, turnsOf(config) * response_length) : max_model_len;
};

/** Tokens of one sequence from its first reply on at most. */
const continued = (config: RunConfig): number => {
  const { enable_response_mask, max_model_len, response_length } = config.rollout;
  const length = turnsOf(config) * (response_length + BEFORE_REPLY) - BEFORE_REPLY;
  return Math.min(max_model_len - 1, enable_response_mask ? length : max_model_len);
};

/** Sequences of a window, and of a mini-batch of it. */
export const sequencesOf = ({ actor, es_manager: { train } }: RunConfig) => {
  const window = train.env_groups * train.group_size;
  return { window, mini: Math.min(window, actor.ppo_mini_batch_size) };
};

/** Passes whose sequences share prompts: every group's are in the mini-batch. */
const sharedShape = (config: RunConfig): PassShape => {
  const { group_size } = config.es_manager.train;
  const { mini } = sequencesOf(config);
  const behind = continued(config);
  const families = Array.from({ length: Math.ceil(mini / group_size) }, () => ({
    prompt: longest(config) - behind,
    continuations: Array.from({ length: Math.min(group_size, mini) }, () => behind),
  }));
  const passes = sharedPassesOf(families, config.actor.micro_batch_tokens);
  const [first] = passes;
  if (first === undefined) throw new RangeError("a mini-batch without sequences");
  const { members, prompt, time } = first;
  const groups = first.groups.length;
  const sequences = groups * members;
  const targets = upTo(Math.max(1, sequences * trained(config)), 64);
  return {
    sizes: { groups, members, prompt, time, targets },
    tokens: sequences * (prompt + time),
    passes: passes.length,
  };
};

const wholeShape = (config: RunConfig): PassShape => {
  const time = padded(longest(config));
  const fit = Math.max(1, Math.floor(config.actor.micro_batch_tokens / time));
  const { mini } = sequencesOf(config);
  const batch = Math.min(fit, mini);
  const targets = upTo(Math.max(1, batch * trained(config)), 64);
  return { sizes: { batch, time, targets }, tokens: batch * time, passes: Math.ceil(mini / batch) };
};

export const passShape = (config: RunConfig): PassShape =>
  config.actor.use_prefix_grouper ? sharedShape(config) : wholeShape(config);

export interface GeneratorShape {
  /** Sequences that have a cache row at once. */
  readonly rows: number;
  /** Positions of a row. */
  readonly capacity: number;
  /** Shared prefixes kept, and the positions of each. */
  readonly prefixes: { readonly rows: number; readonly capacity: number };
  /** The largest step that starts sequences. */
  readonly prefill: { readonly batch: number; readonly time: number };
  /** The largest that goes on with some; undefined where none does. */
  readonly extend: { readonly batch: number; readonly time: number; readonly capacity: number } | undefined;
}

/** Of one generator thread, its sequences being spread evenly. */
export const generatorShape = (config: RunConfig): GeneratorShape => {
  const { es_manager, generation, model, rollout } = config;
  const { prefill_tokens, slots } = generation;
  const groups = groupsInFlight(config);
  const { train, val } = es_manager;
  const validated = val.env_groups * val.group_size;
  const episodes = Math.max(groups * train.group_size, Math.min(validated, slots * model.generator_threads));
  const ofRows = (count: number) => upTo(count, rowBucket(slots));
  const rows = Math.min(ofRows(slots), ofRows(Math.ceil(episodes / model.generator_threads)));
  const prompt = Math.max(1, longest(config) - rollout.response_length);
  const fed = Math.min(prompt, prefill_tokens);
  const time = upTo(fed, TIME_BUCKET);
  const started = Math.max(2, Math.min(rows, Math.floor(prefill_tokens / time)));
  const later = Math.min(prompt > prefill_tokens ? prefill_tokens : BEFORE_REPLY, prefill_tokens);
  const laterTime = upTo(later, TIME_BUCKET);
  const goesOn = rollout.max_turn > 1 || prompt > prefill_tokens;
  const shared = Math.min(prefixRows(slots), Math.ceil(groups / model.generator_threads));
  return {
    rows,
    capacity: positions(longest(config)),
    prefixes: { rows: Math.min(prefixRows(slots), ofRows(shared)), capacity: positions(prompt) },
    prefill: { batch: started, time },
    extend: goesOn
      ? {
          batch: Math.max(2, Math.min(rows, Math.floor(prefill_tokens / laterTime))),
          time: laterTime,
          capacity: positions(longest(config)),
        }
      : undefined,
  };
};
