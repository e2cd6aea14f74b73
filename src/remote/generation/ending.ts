/**
 * Where a reply ends in the tokens that a server has sampled, by the rule that generator threads have: an end token, a stop sequence in the
 * decoded bytes, or the most tokens asked for. Invariant: equal ids give equal replies, whoever sampled them.
 */
import type { Finish } from "../../domain/Episode.ts";
import type { StopMatcher, StopState } from "../../model/tokenizer/StopMatcher.ts";

export interface Stops {
  readonly ids: ReadonlySet<number>;
  /** Null without stop sequences. */
  readonly matcher: StopMatcher | null;
}

export interface Ending {
  /** Tokens that are the reply's. */
  readonly kept: number;
  /** Null where the reply goes on. */
  readonly finish: Finish | null;
  /** Of the matcher, after what was kept. */
  readonly state: StopState;
}

/** @param left tokens that the reply may have still */
export const endingOf = (ids: Int32Array, { ids: stopIds, matcher }: Stops, from: StopState, left: number): Ending => {
  let state = from;
  for (const [index, id] of ids.entries()) {
    const kept = index + 1;
    if (stopIds.has(id)) return { kept, finish: "stop", state };
    if (matcher !== null) {
      const found = matcher.advance(state, id);
      state = found.state;
      if (found.matched) return { kept, finish: "stop", state };
    }
    if (kept >= left) return { kept, finish: "length", state };
  }
  return { kept: ids.length, finish: null, state };
};
