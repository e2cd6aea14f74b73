/**
 * Scores continuations behind prompts on the learner's own lane, pass by pass between the learner's commands: a command waits for one pass at
 * most, and no weights are copied. Invariant: all rows that are given out were scored under one version of the weights.
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

/** Padded counts of targets are few, because the runtime's arena grows with each new shape. */
const TARGETS = 64;

const padded = (values: readonly number[], length: number, fill: number): BigInt64Array => {
  const into = new BigInt64Array(length).fill(BigInt(fill));
  for (const [i, value] of values.entries()) into[i] = BigInt(value);
  return into;
};

/** One prompt with continuations of it in a row. Padding is a segment of its own. */
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

/** Sums of consecutive parts of `values`. */
const sumsOf = (values: Float32Array, lengths: readonly number[]): readonly number[] => {
  let at = 0;
  return lengths.map((length) => {
    const part = values.subarray(at, at + length);
    at += length;
    return part.reduce((sum, value) => sum + value, 0);
  });
};

/** The model of it, opened when first needed. */
export class ContinuationScorer {
  readonly #open: () => Promise<Pass<never, "logp">>;
  #pass: Promise<Pass<never, "logp">> | undefined;

  constructor(config: DecoderConfig, lanes: Lanes) {
    this.#open = () => lanes.pass({ model: crossScoreModel(config), trained: [], sums: [], rows: ["logp"] });
  }

  /** Log-probability of each continuation behind the prompt, nats, summed over its ids. A pass of one micro-batch keeps to one lane. */
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

/** Where a scoring runs. */
export interface ScoringHost {
  /** Runs `work` when the commands before it are done. */
  readonly runInOrder: <A>(work: () => Promise<A>) => Promise<A>;
  /** Commands of updates that have come so far. */
  readonly updateCommands: () => number;
  /** Nobody waits for the scores any more. */
  readonly isCancelled: () => boolean;
  readonly version: () => Version;
  /** `Scoring.behind`, under the current weights. */
  readonly score: (
    prompt: Int32Array,
    continuations: readonly Int32Array[],
    temperature: number,
  ) => Promise<readonly number[]>;
}

/** The request's scores, or the rows that were finished before it had to give way. */
export const crossScores = async (request: CrossRequest, host: ScoringHost): Promise<CrossScores> => {
  const { continuations, givesWay, passTokens, prompts, temperature } = request;
  const width = prompts.length;
  const sums = new Float64Array(continuations.length * width);
  const commandsAtStart = host.updateCommands();
  let version: Version | undefined;
  let milliseconds = 0;
  /** One pass; false where the weights have moved on. */
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
      // Commands that came during the pass before are heard of in a turn of the loop.
      await setImmediate();
      if (givesWay && host.updateCommands() > commandsAtStart) return scoresUpTo(block[0]);
      if (!(await score(prompt, block))) return scoresUpTo(block[0]);
    }
  }
  return scoresUpTo(continuations.length);
};
