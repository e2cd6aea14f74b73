/**
 * Whether a group that a worker sent can be what it was given to play: an answer from outside is untrusted until it was here. Pure. Invariant:
 * what passes trains as if it had been played by the learner's process; no array of it is longer, and no number of it other, than there.
 */
import type { RunConfig } from "../../config/RunConfig.ts";
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

/** What a group is held against. */
export interface Bounds {
  readonly limits: Pick<
    RunConfig["rollout"],
    "max_turn" | "max_model_len" | "response_length" | "summary_length" | "max_actions_per_turn"
  >;
  /** Ids are below it. */
  readonly vocabulary: number;
  /** The newest version that there is. */
  readonly newest: Version;
}

/** `stale`: by weights older than those that its admission asks for, or by unknown ones; `refused`: it cannot be true. */
export interface Flaw {
  readonly kind: "refused" | "stale";
  readonly why: string;
}

/** A group that plays another instance than its seed's lies this far on (rollout/group.ts), and so often at most. */
const seedStride = 2 ** 32;
const attempts = 32;
/** Log-probabilities are rounded to float32, upwards too. */
const rounding = 1e-6;

const refused = (why: string): Flaw => ({ kind: "refused", why });

const inVocabulary = (ids: Int32Array, { vocabulary }: Bounds): boolean =>
  ids.every((id) => id >= 0 && id < vocabulary);

const tokens = ({ entropies, ids, mu, versions }: Sampled, bounds: Bounds, least: Version): Flaw | undefined => {
  if (!inVocabulary(ids, bounds)) return refused("a sampled id is not in the vocabulary");
  if (!mu.every((value) => Number.isFinite(value) && value <= rounding)) return refused("a log-probability is above 0");
  if (!entropies.every((value) => Number.isFinite(value) && value >= -rounding))
    return refused("an entropy is below 0");
  const strange = versions.find((version) => version < least || version > bounds.newest);
  if (strange === undefined) return undefined;
  return { kind: "stale", why: `a token is of version ${strange}; versions ${least} to ${bounds.newest} count` };
};

const turn = (of: Turn, summary: boolean, bounds: Bounds, least: Version): Flaw | undefined => {
  const { limits } = bounds;
  const { actions, executed, info, penalties, penalty, prompt, reward, sampled, thought } = of;
  const longest = summary ? limits.summary_length : limits.response_length;
  if (sampled.ids.length > longest)
    return refused(`a reply has ${sampled.ids.length} tokens; at most ${longest} are sampled`);
  if (!inVocabulary(prompt, bounds)) return refused("an id of a prompt is not in the vocabulary");
  const numbers = [reward, penalty, ...Object.values(penalties ?? {}), ...Object.values(info)];
  if (!numbers.every(Number.isFinite)) return refused("a reward or a number of its environment is not finite");
  // A turn's reward is the sum over its actions.
  if (Math.abs(reward) > LARGEST_REWARD * Math.max(1, executed)) return refused("a reward is out of range");
  if (executed > actions.length || actions.length > limits.max_actions_per_turn)
    return refused("it played too many actions");
  if (thought !== undefined && (thought[0] > thought[1] || thought[1] > sampled.ids.length)) {
    return refused("a thought lies outside of its reply");
  }
  return tokens(sampled, bounds, least);
};

const sequence = ({ summary, turns }: Sequence, bounds: Bounds, least: Version): Flaw | undefined => {
  const length = turns.reduce((sum, { prompt, sampled }) => sum + prompt.length + sampled.ids.length, 0);
  // A summary is asked for in a chat of its own, whose length the context does not bound.
  if (summary === undefined && length > bounds.limits.max_model_len) return refused(`a sequence has ${length} ids`);
  for (const each of turns) {
    const flaw = turn(each, summary !== undefined, bounds, least);
    if (flaw !== undefined) return flaw;
  }
  return undefined;
};

const episode = (of: Episode, bounds: Bounds, least: Version): Flaw | undefined => {
  const { max_turn: most } = bounds.limits;
  if (turnsOf(of).length > most || repliesOf(of).length > 2 * most) return refused("it has more turns than an episode");
  if (of.sequences.length > 2 * most + 1) return refused("it has more sequences than an episode");
  for (const each of of.sequences) {
    const flaw = sequence(each, bounds, least);
    if (flaw !== undefined) return flaw;
  }
  return undefined;
};

/** What is wrong with a group; undefined where nothing is. */
export const flawOf = ({ episodes, prompt }: Group, bounds: Bounds): Flaw | undefined => {
  if (episodes.length !== prompt.size) return refused(`it has ${episodes.length} episodes, and not ${prompt.size}`);
  const [first] = episodes;
  const moved = ((first?.seed ?? prompt.seed) - prompt.seed) / seedStride;
  if (!Number.isInteger(moved) || moved < 0 || moved >= attempts) return refused("it is of another seed");
  if (episodes.some(({ seed }) => seed !== first?.seed)) return refused("its episodes have different seeds");
  for (const each of episodes) {
    const flaw = episode(each, bounds, prompt.admittedAt);
    if (flaw !== undefined) return flaw;
  }
  return undefined;
};
