/**
 * Scores continuations after prompts on the learner's own lane, between the learner's commands. A command waits for one pass at most, and
 * no weights are copied. Invariant: all rows of a result were scored under one version of the weights.
 */
import { setImmediate } from "node:timers/promises";
import { blocksOf, type CrossRequest, type CrossScores } from "../domain/CrossScores.ts";
import type { Version } from "../domain/Episode.ts";
import { bucket } from "../domain/Passes.ts";
import type { DecoderConfig } from "../model/graphs/Architecture.ts";
import { crossScoreModel } from "../model/graphs/CrossScore.ts";
import type { MicroInputs } from "./lanes/Lane.ts";
import type { Lanes, LaneWeights, Pass } from "./lanes/Lanes.ts";
import { scalar } from "./microInputs.ts";

/** Target counts are padded to multiples of this, because the runtime's arena grows with each new shape. */
const TARGETS = 64;

const padded = (values: readonly number[], length: number, fill: number): BigInt64Array => {
  const into = new BigInt64Array(length).fill(BigInt(fill));
  for (const [i, value] of values.entries()) into[i] = BigInt(value);
  return into;
};

/**
 * Packs a prompt and its continuations into one row. Segments keep continuations from attending to each other; padding is a segment too.
 */
const packedInputs = (prompt: Int32Array, continuations: readonly Int32Array[], temperature: number): MicroInputs => {
  const ids = Array.from(prompt);
  const positions = ids.map((_, i) => i);
  const segments = ids.map(() => 0);
  const before: number[] = [];
  for (const [i, continuation] of continuations.entries()) {
    for (const [t, id] of continuation.entries()) {
      before.push(t === 0 ? prompt.length - 1 : ids.length - 1);
      ids.push(id);
      positions.push(prompt.length + t);
      segments.push(i + 1);
    }
  }
  const time = bucket(ids.length);
  const targets = Math.ceil(before.length / TARGETS) * TARGETS;
  const tokens = continuations.flatMap((continuation) => Array.from(continuation));
  return {
    ids: { data: padded(ids, time, 0), dims: [1, time] },
    positions: { data: padded(positions, time, 0), dims: [1, time] },
    segments: { data: padded(segments, time, -1), dims: [time] },
    before: { data: padded(before, targets, 0), dims: [targets] },
    tokens: { data: padded(tokens, targets, 0), dims: [targets] },
    temperature: scalar(temperature),
  };
};

/** Sums consecutive parts of `values` with the given lengths. */
const sumsOf = (values: Float32Array, lengths: readonly number[]): readonly number[] => {
  let at = 0;
  return lengths.map((length) => {
    const part = values.subarray(at, at + length);
    at += length;
    return part.reduce((sum, value) => sum + value, 0);
  });
};

/** Holds the model that scores several continuations of one prompt in one pass; it is opened on first use. */
export class ContinuationScorer {
  readonly #open: () => Promise<Pass<never, "logp">>;
  #pass: Promise<Pass<never, "logp">> | undefined;

  constructor(config: DecoderConfig, lanes: Lanes) {
    this.#open = () => lanes.pass({ model: crossScoreModel(config), trained: [], sums: [], rows: ["logp"] });
  }

  /** Returns the log-probability of each continuation after the prompt, nats, summed over its ids. One micro-batch keeps to one lane. */
  async score(
    weights: LaneWeights,
    prompt: Int32Array,
    continuations: readonly Int32Array[],
    temperature: number,
  ): Promise<readonly number[]> {
    this.#pass ??= this.#open();
    const pass = await this.#pass;
    const { rows } = await pass.run(weights, [packedInputs(prompt, continuations, temperature)]);
    const [row] = rows;
    if (row === undefined) throw new RangeError("a pass has no result");
    return sumsOf(
      row.logp,
      continuations.map(({ length }) => length),
    );
  }
}

/** The learner's thread, as a scoring sees it. */
export interface ScoringHost {
  /** Runs `work` after the commands that arrived earlier. */
  readonly runInOrder: <A>(work: () => Promise<A>) => Promise<A>;
  /** Returns how many update commands have arrived so far. */
  readonly updateCommands: () => number;
  /** True once nobody waits for the scores. */
  readonly isCancelled: () => boolean;
  readonly version: () => Version;
  /** Calls `ContinuationScorer.score` with the current weights. */
  readonly score: (
    prompt: Int32Array,
    continuations: readonly Int32Array[],
    temperature: number,
  ) => Promise<readonly number[]>;
}

/** Returns the request's scores. If an update command arrives and the request gives way, only the rows finished so far are returned. */
export const crossScores = async (request: CrossRequest, host: ScoringHost): Promise<CrossScores> => {
  const { continuations, givesWay, passTokens, prompts, temperature } = request;
  const width = prompts.length;
  const sums = new Float64Array(continuations.length * width);
  const commandsAtStart = host.updateCommands();
  let version: Version | undefined;
  let milliseconds = 0;
  /** Runs one pass; returns false if the weights have changed or the request is cancelled. */
  const score = (prompt: number, [from, to]: readonly [number, number]) =>
    host.runInOrder(async () => {
      version ??= host.version();
      if (version !== host.version() || host.isCancelled()) return false;
      const start = performance.now();
      const row = await host.score(prompts[prompt]!, continuations.slice(from, to), temperature);
      for (const [i, sum] of row.entries()) sums[(from + i) * width + prompt] = sum;
      milliseconds += performance.now() - start;
      return true;
    });
  const scoresUpTo = (rows: number): CrossScores => ({
    rows,
    sums: sums.slice(0, rows * width),
    version: version ?? host.version(),
    seconds: milliseconds / 1000,
  });
  const lengths = (items: readonly Int32Array[]) => items.map(({ length }) => length);
  for (const block of blocksOf(lengths(prompts), lengths(continuations), passTokens)) {
    for (const prompt of prompts.keys()) {
      // Lets the event loop deliver the commands that arrived during the previous pass.
      await setImmediate();
      if (givesWay && host.updateCommands() > commandsAtStart) return scoresUpTo(block[0]);
      if (!(await score(prompt, block))) return scoresUpTo(block[0]);
    }
  }
  return scoresUpTo(continuations.length);
};
