import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { validTokens } from "../../../src/generation/Packing.ts";
import { type DecoderConfig, parameters } from "../../../src/model/graphs/Architecture.ts";
import { extendModel, prefillModel, stepModel } from "../../../src/model/graphs/Decode.ts";
import { scoreModel } from "../../../src/model/graphs/Score.ts";
import { type Feeds, int64, load, type Model, scalar } from "../tensor/session.ts";
import { decoders, everyTarget, logProbabilities, randomIds, randomWeights, tiny, weightFeeds } from "../tiny.ts";
import { Cache } from "./Cache.ts";

type Name = "prefill" | "extend" | "step" | "score";

interface Opened {
  readonly config: DecoderConfig;
  readonly weights: Feeds;
  readonly models: Readonly<Record<Name, Model>>;
}

const open = async (config: DecoderConfig): Promise<Opened> => ({
  config,
  weights: weightFeeds(randomWeights(parameters(config))),
  models: {
    prefill: await load(prefillModel(config)),
    extend: await load(extendModel(config)),
    step: await load(stepModel(config)),
    score: await load(scoreModel(config)),
  },
});

const padded = (rows: ReadonlyArray<readonly number[]>, time: number) =>
  int64(
    [rows.length, time],
    rows.flatMap((row) => Array.from({ length: time }, (_, at) => row[at] ?? 0)),
  );

const places = (counts: readonly number[], time: number) => {
  const { ranks, valid } = validTokens(BigInt64Array.from(counts, BigInt), time);
  return {
    valid: int64([valid.length], [...valid].map(Number)),
    ranks: int64([counts.length, time], [...ranks].map(Number)),
  };
};

const rowOf = (logits: Float32Array, row: number): Float32Array =>
  logits.subarray(row * tiny.vocabSize, (row + 1) * tiny.vocabSize);

/** Rows start from a prompt, take several tokens, then one at a time; the logits of each row after each of its calls. */
const generate = async (
  { config, models, weights }: Opened,
  rows: ReadonlyArray<readonly number[]>,
  prompts: readonly number[],
  extensions: readonly number[],
  steps: number,
  capacity: number,
): Promise<ReadonlyArray<ReadonlyArray<Float32Array>>> => {
  const cache = new Cache(config, rows.length, capacity);
  const seen: Float32Array[][] = rows.map(() => []);
  const keep = (logits: Float32Array) => {
    rows.forEach((_, row) => {
      seen[row]!.push(rowOf(logits, row));
    });
  };
  const several = async (model: Model, counts: readonly number[]) => {
    const time = Math.max(...counts);
    const past = [...cache.lengths];
    const ids = padded(
      rows.map((row, at) => row.slice(past[at], past[at]! + counts[at]!)),
      time,
    );
    const lengths = int64([rows.length], counts);
    const results = await model.run({
      ...weights,
      ids,
      lengths,
      ...(model === models.extend
        ? { ...cache.feeds(), pastLengths: int64([rows.length], past), ...places(counts, time) }
        : {}),
    });
    cache.append(results, time, counts);
    keep(results.logits!);
  };
  await several(models.prefill, prompts);
  await several(models.extend, extensions);
  for (let step = 0; step < steps; step += 1) {
    const results = await models.step.run({
      ...weights,
      ids: int64(
        [rows.length],
        rows.map((row, at) => row[cache.lengths[at]!]!),
      ),
      pastLengths: int64([rows.length], cache.lengths),
      ...cache.feeds([1]),
    });
    cache.append(
      results,
      1,
      rows.map(() => 1),
    );
    keep(results.logits!);
  }
  return seen;
};

const rows = [randomIds(20, 11), randomIds(20, 12), randomIds(20, 13)];
const prompts = [4, 2, 7];
const extensions = [3, 5, 1];

describe.each(decoders)("decode models of a %s", (_, config) => {
  let opened: Opened;
  beforeAll(async () => {
    opened = await open(config);
  });
  afterAll(() => Promise.all(Object.values(opened.models).map((model) => model.release())));

  it("give the log-probabilities that scoring the whole sequence gives", async () => {
    const before = everyTarget(rows.length, 20);
    const { models, weights } = opened;
    const scored = await models.score.run({ ...weights, ids: padded(rows, 20), before, temperature: scalar(1) });
    const seen = await generate(opened, rows, prompts, extensions, 6, 32);
    rows.forEach((row, at) => {
      const ends = [prompts[at]!, prompts[at]! + extensions[at]!];
      for (let step = 1; step <= 6; step += 1) ends.push(ends[1]! + step);
      ends.forEach((end, call) => {
        const expected = scored.logp![at * 19 + end - 1]!;
        expect(logProbabilities(seen[at]![call]!)[row[end]!]).toBeCloseTo(expected, 4);
      });
    });
  });

  it("give a row the same bits whatever the other rows and the capacity are", async () => {
    const wide = await generate(opened, rows, prompts, extensions, 6, 64);
    const [first, second] = [rows[0]!, rows[2]!];
    const narrow = await generate(opened, [second, first], [7, 4], [1, 3], 6, 32);
    expect(narrow[1]).toEqual(wide[0]);
    expect(narrow[0]).toEqual(wide[2]);
  });
});

describe("decode models of a short context", () => {
  it("extend rows by more tokens together than there are positions", async () => {
    const opened = await open({ ...tiny, maxPositions: 32 });
    const four = [1, 2, 3, 4].map((seed) => randomIds(20, seed));
    const together = await generate(opened, four, [4, 4, 4, 4], [9, 9, 9, 9], 1, 32);
    const apart = await generate(opened, four.slice(0, 2), [4, 4], [9, 9], 1, 32);
    expect(together.slice(0, 2)).toEqual(apart);
    await Promise.all(Object.values(opened.models).map((model) => model.release()));
  });
});
