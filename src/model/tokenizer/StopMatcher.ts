/**
 * Finds stop sequences in the bytes of sampled ids with an automaton (Aho and Corasick, "Efficient string matching", CACM 1975).
 * Invariant: a sequence is found wherever its bytes appear, however they were split into tokens.
 */
import type { BytesOf } from "./ByteDecoder.ts";

/** A state of the automaton: one small integer, kept with each reply. */
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

/** The patterns as a tree of bytes; an edge that no pattern takes is -1. */
const treeOf = (patterns: readonly Uint8Array[]): Automaton & { readonly states: number } => {
  const most = 1 + patterns.reduce((total, pattern) => total + pattern.length, 0);
  const next = new Int32Array(most * 256).fill(-1);
  const accepts = new Uint8Array(most);
  let states = 1;
  for (const pattern of patterns) {
    let state = 0;
    for (const byte of pattern) {
      const edge = state * 256 + byte;
      if (next[edge]! < 0) next[edge] = states++;
      state = next[edge]!;
    }
    accepts[state] = 1;
  }
  return { next, accepts, states };
};

/** Adds the edges that no pattern takes: each leads on from the longest suffix that is in the tree. */
const build = (patterns: readonly Uint8Array[]): Automaton => {
  const { accepts, next, states } = treeOf(patterns);
  const fallback = new Int32Array(states);
  // Breadth first, so that a state's fallback is complete before the state is reached. An array's iterator sees what is pushed.
  const order: number[] = [0];
  for (const state of order) {
    for (let byte = 0; byte < 256; byte++) {
      const edge = state * 256 + byte;
      const beyond = state === 0 ? 0 : next[fallback[state]! * 256 + byte]!;
      const child = next[edge]!;
      if (child < 0) {
        next[edge] = beyond;
        continue;
      }
      fallback[child] = beyond;
      if (accepts[beyond] === 1) accepts[child] = 1;
      order.push(child);
    }
  }
  return { next, accepts };
};

/** Returns the matcher of a run's stop texts and of those that a request has beside them; null without any. */
export type StopMatchers = (more: readonly string[]) => StopMatcher | null;

/** The matchers of requests in a run with these stop texts. */
export const matchers = (texts: readonly string[], bytesOf: BytesOf): StopMatchers => {
  const matcherOfRun = texts.length === 0 ? null : make(texts, bytesOf);
  return (more) => (more.length === 0 ? matcherOfRun : make([...texts, ...more], bytesOf));
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
        state = next[state * 256 + byte]!;
        if (accepts[state] === 1) matched = true;
      }
      return { state, matched };
    },
  };
};
