/**
 * Checks that a worker's group can be what the worker was given to play, since results from other machines are untrusted. Invariant: a
 * group that passes trains as if the learner's process had played it; its arrays are no longer, and its numbers no other, than such a
 * group's.
 */
import type { RunConfig } from "../../config/RunConfig.ts";
import type { AgentCall } from "../../domain/AgentCall.ts";
import {
  type Episode,
  LARGEST_REWARD,
  repliesOf,
  type Sampled,
  type Sequence,
  type Turn,
  turnsOf,
  type Version,
} from "../../domain/Episode.ts";
import type { Group } from "../../domain/Group.ts";

/** The limits that a group is checked against. */
export interface GroupBounds {
  readonly limits: Pick<
    RunConfig["rollout"],
    "max_turn" | "max_model_len" | "response_length" | "summary_length" | "max_actions_per_turn"
  >;
  /** Every id is below it. */
  readonly vocabulary: number;
  /** The newest version that exists. */
  readonly newestVersion: Version;
}

/** `stale`: sampled by older weights than its admission allows, or by unknown ones. `refused`: it cannot be true. */
export interface GroupFlaw {
  readonly kind: "refused" | "stale";
  readonly why: string;
}

/** Each excluded instance moves a group's seed by this stride, so many times at most (rollout/group.ts). */
const SEED_STRIDE = 2 ** 32;
const MOST_ATTEMPTS = 32;
/** Log-probabilities are rounded to float32, possibly upwards. */
const ROUNDING = 1e-6;

const refused = (why: string): GroupFlaw => ({ kind: "refused", why });

const inVocabulary = (ids: Int32Array, { vocabulary }: GroupBounds): boolean =>
  ids.every((id) => id >= 0 && id < vocabulary);

const tokensFlaw = (
  { entropies, ids, mu, versions }: Sampled,
  bounds: GroupBounds,
  oldest: Version,
): GroupFlaw | undefined => {
  if (!inVocabulary(ids, bounds)) return refused("a sampled id is not in the vocabulary");
  if (!mu.every((value) => Number.isFinite(value) && value <= ROUNDING)) return refused("a log-probability is above 0");
  if (!entropies.every((value) => Number.isFinite(value) && value >= -ROUNDING))
    return refused("an entropy is below 0");
  const foreign = versions.find((version) => version < oldest || version > bounds.newestVersion);
  if (foreign === undefined) return undefined;
  return {
    kind: "stale",
    why: `a token is of version ${foreign}; versions ${oldest} to ${bounds.newestVersion} count`,
  };
};

const turnFlaw = (turn: Turn, isSummary: boolean, bounds: GroupBounds, oldest: Version): GroupFlaw | undefined => {
  const { limits } = bounds;
  const { actions, executed, info, penalties, penalty, prompt, reward, sampled, thought } = turn;
  const longest = isSummary ? limits.summary_length : limits.response_length;
  if (sampled.ids.length > longest)
    return refused(`a reply has ${sampled.ids.length} tokens; at most ${longest} are sampled`);
  if (!inVocabulary(prompt, bounds)) return refused("an id of a prompt is not in the vocabulary");
  const numbers = [reward, penalty, ...Object.values(penalties ?? {}), ...Object.values(info)];
  if (!numbers.every(Number.isFinite)) return refused("a reward or a number of its environment is not finite");
  if (Math.abs(reward) > LARGEST_REWARD * Math.max(1, executed)) return refused("a reward is out of range");
  if (executed > actions.length || actions.length > limits.max_actions_per_turn)
    return refused("it played too many actions");
  if (thought !== undefined && (thought[0] > thought[1] || thought[1] > sampled.ids.length)) {
    return refused("a thought lies outside of its reply");
  }
  return tokensFlaw(sampled, bounds, oldest);
};

const sequenceFlaw = ({ summary, turns }: Sequence, bounds: GroupBounds, oldest: Version): GroupFlaw | undefined => {
  const length = turns.reduce((sum, { prompt, sampled }) => sum + prompt.length + sampled.ids.length, 0);
  // A summary has a chat of its own, which the context length does not bound.
  if (summary === undefined && length > bounds.limits.max_model_len) return refused(`a sequence has ${length} ids`);
  for (const turn of turns) {
    const flaw = turnFlaw(turn, summary !== undefined, bounds, oldest);
    if (flaw !== undefined) return flaw;
  }
  return undefined;
};

/** Checks that the calls of an agent are a tree: numbered once each, and parents before their children. */
const callsFlaw = (turns: readonly Turn[]): GroupFlaw | undefined => {
  const calls = turns.flatMap(({ call }) => call ?? []);
  if (calls.length < turns.length) return refused("a turn is no call, beside others that are");
  const numbers = new Set(calls.map(({ number }) => number));
  if (numbers.size < calls.length) return refused("two calls have the same number");
  const hasParent = ({ number, parent }: AgentCall): boolean =>
    parent === null || (parent < number && numbers.has(parent));
  return calls.every(hasParent) ? undefined : refused("a call goes on from none before it");
};

const episodeFlaw = (episode: Episode, bounds: GroupBounds, oldest: Version): GroupFlaw | undefined => {
  const { max_turn: mostTurns } = bounds.limits;
  const { discarded = [] } = episode;
  const replies = [...repliesOf(episode), ...discarded];
  if (turnsOf(episode).length > mostTurns || replies.length > 2 * mostTurns)
    return refused("it has more turns than an episode");
  if (episode.sequences.length > 2 * mostTurns + 1) return refused("it has more sequences than an episode");
  for (const sequence of [...episode.sequences, ...discarded.map((turn): Sequence => ({ turns: [turn] }))]) {
    const flaw = sequenceFlaw(sequence, bounds, oldest);
    if (flaw !== undefined) return flaw;
  }
  const hasCalls = discarded.length > 0 || replies.some(({ call }) => call !== undefined);
  return hasCalls ? callsFlaw(replies) : undefined;
};

/** Returns the first flaw of a group; undefined if it has none. */
export const findFlaw = ({ episodes, prompt }: Group, bounds: GroupBounds): GroupFlaw | undefined => {
  if (episodes.length !== prompt.size) return refused(`it has ${episodes.length} episodes, and not ${prompt.size}`);
  const [first] = episodes;
  const strides = ((first?.seed ?? prompt.seed) - prompt.seed) / SEED_STRIDE;
  if (!Number.isInteger(strides) || strides < 0 || strides >= MOST_ATTEMPTS) return refused("it is of another seed");
  if (episodes.some(({ seed }) => seed !== first?.seed)) return refused("its episodes have different seeds");
  for (const episode of episodes) {
    const flaw = episodeFlaw(episode, bounds, prompt.admittedAt);
    if (flaw !== undefined) return flaw;
  }
  return undefined;
};
