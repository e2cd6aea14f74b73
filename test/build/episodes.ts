/** Replies, turns and episodes of a few tokens. A test names the fields that it looks at; all others have plain values. */
import type { Episode, Outcome, Sampled, Turn } from "../../src/domain/Episode.ts";

export const won: Outcome = { _tag: "Done", success: true };
export const lost: Outcome = { _tag: "Done", success: false };
export const failed: Outcome = { _tag: "Failed", reason: "step_error", message: "" };

/** A reply of these ids, or of so many zeros. */
export const sampledOf = (reply: number | readonly number[], changes: Partial<Sampled> = {}): Sampled => {
  const ids = typeof reply === "number" ? new Int32Array(reply) : Int32Array.from(reply);
  return {
    ids,
    mu: new Float32Array(ids.length),
    versions: new Int32Array(ids.length),
    entropies: new Float32Array(ids.length),
    finish: "stop",
    ...changes,
  };
};

/** A parsed turn without action or reward. */
export const turnOf = (changes: Partial<Turn> = {}): Turn => ({
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
  ...changes,
});

/** A member of a group whose seed is its number: won, of no turns. */
export const episodeOf = (group: number, member: number, changes: Partial<Episode> = {}): Episode => ({
  id: { group, member },
  tag: "T",
  seed: group,
  sequences: [],
  outcome: won,
  ...changes,
});

/** A member whose turns lie in one sequence. */
export const episodeOfTurns = (
  group: number,
  member: number,
  turns: readonly Turn[],
  changes: Partial<Episode> = {},
): Episode => episodeOf(group, member, { sequences: [{ turns }], ...changes });
