/**
 * Finds the end of a reply in the tokens that a server has sampled. The rule is that of generator threads: an end token, a stop sequence in
 * the decoded bytes, or the token limit. Invariant: equal ids give equal replies, whoever sampled them.
 */
import type { Finish } from "../../domain/Episode.ts";
import type { StopMatcher, StopState } from "../../model/tokenizer/StopMatcher.ts";

export interface StopRules {
  readonly ids: ReadonlySet<number>;
  readonly matcher: StopMatcher | null;
}

export interface ReplyEnd {
  /** Number of tokens that belong to the reply. */
  readonly length: number;
  /** Null if the reply goes on. */
  readonly finish: Finish | null;
  /** State of the matcher behind these tokens. */
  readonly state: StopState;
}

/** @param mostTokens tokens that the reply may still have */
export const findReplyEnd = (
  ids: Int32Array,
  { ids: stopIds, matcher }: StopRules,
  from: StopState,
  mostTokens: number,
): ReplyEnd => {
  let state = from;
  for (const [index, id] of ids.entries()) {
    const length = index + 1;
    if (stopIds.has(id)) return { length, finish: "stop", state };
    if (matcher !== null) {
      const match = matcher.advance(state, id);
      state = match.state;
      if (match.matched) return { length, finish: "stop", state };
    }
    if (length >= mostTokens) return { length, finish: "length", state };
  }
  return { length: ids.length, finish: null, state };
};
