/**
 * The largest shapes that a run gives its models, from the run file alone: episodes are taken to fill their context, and replies their length.
 * What is not in the run file is an assumption, named here.
 */
import { groupsInFlight } from "../config/mostSlots.ts";
import type { RunConfig } from "../config/RunConfig.ts";
import { bucket as padded } from "../domain/Passes.ts";
import { bucket as positions } from "../policy/generation/Cache.ts";
import { ROW_BUCKET } from "../policy/generation/CachedModel.ts";
import { TIME_BUCKET } from "../policy/generation/Packing.ts";
import { prefixRows } from "../policy/generation/Scheduler.ts";

/**
 * Tokens before each reply of an episode, as few as the environments and templates here have: the end of the reply before, and what the
 * environment shows. The fewer they are, the more of an episode is trained on.
 */
const BEFORE_REPLY = 24;

const upTo = (count: number, multiple: number): number => Math.ceil(count / multiple) * multiple;

/** Rows and padded positions of a pass, and the tokens that it is trained on. */
export interface PassShape {
  readonly batch: number;
  readonly time: number;
  readonly targets: number;
}

/** Positions of the longest sequence. */
const longest = ({ rollout }: RunConfig): number => rollout.max_model_len;

/** Tokens of one sequence that are trained on at most. */
const trained = ({ rollout }: RunConfig): number => {
  const { enable_response_mask, max_model_len, max_turn, response_length } = rollout;
  if (!enable_response_mask) return max_model_len;
  const turns = Math.min(max_turn, Math.ceil(max_model_len / (response_length + BEFORE_REPLY)));
  return Math.min(max_model_len, turns * response_length);
};

/** Sequences of a window, and of a mini-batch of it. */
export const sequencesOf = ({ actor, es_manager: { train } }: RunConfig) => {
  const window = train.env_groups * train.group_size;
  return { window, mini: Math.min(window, actor.ppo_mini_batch_size) };
};

/** The largest micro-batch. */
export const microBatch = (config: RunConfig): PassShape => {
  const time = padded(longest(config));
  const fit = Math.max(1, Math.floor(config.actor.micro_batch_tokens / time));
  const batch = Math.min(fit, sequencesOf(config).mini);
  return { batch, time, targets: upTo(Math.max(1, batch * trained(config)), 64) };
};

/** Micro-batches of a mini-batch. */
export const microBatches = (config: RunConfig): number =>
  Math.ceil(sequencesOf(config).mini / microBatch(config).batch);

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
  const rows = Math.min(upTo(slots, ROW_BUCKET), upTo(Math.ceil(episodes / model.generator_threads), ROW_BUCKET));
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
    prefixes: { rows: Math.min(prefixRows(slots), upTo(shared, ROW_BUCKET)), capacity: positions(prompt) },
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
