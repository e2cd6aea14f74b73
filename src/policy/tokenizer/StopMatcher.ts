/**
 * Finds the end of a reply by its text while only ids flow: an automaton over decoded bytes (Aho and Corasick, "Efficient string
 * matching", CACM 1975). A token's bytes enter, the new state and whether a stop sequence ended inside them leave.
 * Invariant: a sequence is found wherever its bytes appear, however they were split into tokens.
 */
import type { BytesOf } from "./ByteDecoder.ts";

/** Where a sequence's reply stands in the automaton: one small integer, so that a slot can keep it beside its ids. */
export type StopState = number;

export interface StopMatcher {
  readonly start: StopState;
  /** Takes one sampled id. Once `matched`, the reply is over; the state goes on from after the token all the same. */
  readonly advance: (state: StopState, id: number) => { readonly state: StopState; readonly matched: boolean };
}

interface Automaton {
  /** `next[state * 256 + byte]`. */
  readonly next: Int32Array;
  readonly accepts: Uint8Array;
}

const build = (patterns: readonly Uint8Array[]): Automaton => {
  const most = 1 + patterns.reduce((total, pattern) => total + pattern.length, 0);
  const next = new Int32Array(most * 256).fill(-1);
  const accepts = new Uint8Array(most);
  let states = 1;
  for (const pattern of patterns) {
    let state = 0;
    for (const byte of pattern) {
      const edge = state * 256 + byte;
      if (next[edge] < 0) next[edge] = states++;
      state = next[edge];
    }
    accepts[state] = 1;
  }
  // Breadth first, so that a state's fallback is complete before the state is reached.
  const fallback = new Int32Array(states);
  const order: number[] = [0];
  for (let head = 0; head < order.length; head++) {
    const state = order[head];
    for (let byte = 0; byte < 256; byte++) {
      const edge = state * 256 + byte;
      const beyond = state === 0 ? 0 : next[fallback[state] * 256 + byte];
      if (next[edge] < 0) {
        next[edge] = beyond;
        continue;
      }
      fallback[next[edge]] = beyond;
      accepts[next[edge]] |= accepts[beyond];
      order.push(next[edge]);
    }
  }
  return { next, accepts };
};

/** A matcher for any of `stops` (UTF-8; empty ones never match), over tokens whose bytes `bytesOf` gives. */
export const make = (stops: readonly string[], bytesOf: BytesOf): StopMatcher => {
  const encoder = new TextEncoder();
  const { next, accepts } = build(stops.filter((stop) => stop !== "").map((stop) => encoder.encode(stop)));
  return {
    start: 0,
    advance: (from, id) => {
      let state = from;
      let matched = false;
      for (const byte of bytesOf(id)) {
        state = next[state * 256 + byte];
        if (accepts[state] === 1) matched = true;
      }
      return { state, matched };
    },
  };
};
