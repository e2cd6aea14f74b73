/** Turns, episodes and groups of a few tokens, for tests that look at one of their fields: all others have plain values. */
import type { Episode, Outcome, Sampled, Turn } from "../../src/domain/Episode.ts";
import type { Group, Prompt } from "../../src/domain/Group.ts";

export const won: Outcome = { _tag: "Done", success: true };
export const lost: Outcome = { _tag: "Done", success: false };
export const failed: Outcome = { _tag: "Failed", reason: "step_error", message: "" };

/** A reply of `length` ids, all zero. */
export const sampledOf = (length: number, over: Partial<Sampled> = {}): Sampled => ({
  ids: new Int32Array(length),
  mu: new Float32Array(length),
  versions: new Int32Array(length),
  entropies: new Float32Array(length),
  finish: "stop",
  ...over,
});

/** A parsed turn without action or reward. */
export const turnOf = (over: Partial<Turn> = {}): Turn => ({
  prompt: new Int32Array(0),
  sampled: sampledOf(0),
  state: "",
  reply: "",
  parsed: true,
  actions: [],
  executed: 0,
  reward: 0,
  penalty: 0,
  info: {},
  ...over,
});

/** A member of a group whose seed is its number: won, of no turns. */
export const episodeOf = (group: number, member: number, over: Partial<Episode> = {}): Episode => ({
  id: { group, member },
  tag: "T",
  seed: group,
  sequences: [],
  outcome: won,
  ...over,
});

export const promptOf = (group: number, size: number, tag = "T"): Prompt => ({
  group,
  tag,
  seed: group,
  size,
  admittedAt: 0,
});

/** A group of one episode for each outcome. */
export const groupOf = (group: number, outcomes: readonly Outcome[], over: Partial<Episode> = {}): Group => ({
  prompt: promptOf(group, outcomes.length, over.tag),
  episodes: outcomes.map((outcome, member) => episodeOf(group, member, { ...over, outcome })),
});
