/**
 * Measures how much of the machine an update turns into useful work, against the GEMM unit with as many threads as the
 * learner has lanes. The update is values, actor and critic forward and backward, clipping, AdamW and all copies.
 * Useful operations per token are 6 N + 3 attention for the actor, and the same for the critic without an output
 * layer. The values before them take 2 N + attention (`models.ts`). N is the parameters applied to a token: after the
 * last attention, only trained tokens count.
 */
import { Trainer } from "../src/learner/Trainer.ts";
import type { DecoderConfig } from "../src/model/graphs/Architecture.ts";
import { learnerSections } from "../test/build/config.ts";
import { type Bench, figureOf, type Measured } from "./Bench.ts";
import { batchOf } from "./batches.ts";
import { FORWARD_AND_BACKWARD, forwardFlops, medium, randomWeights, sizeOf, small } from "./models.ts";
import { rates, repeat, samplesOf } from "./samples.ts";

const TIME = 256;

interface Case {
  readonly config: DecoderConfig;
  readonly rows: number;
  /** Learner lanes, of one intra-op thread each. */
  readonly lanes: 1 | 2;
  /** Trained tokens of every sequence of `TIME`. */
  readonly trained: number;
  readonly target?: number;
  readonly iterations: number;
}

const MOST = TIME - 32;
/** As the quickstart has it: a turn's prompt is longer than its reply. */
const TURNS = (3 * TIME) / 8;

const cases: readonly Case[] = [
  { config: small, rows: 16, lanes: 1, trained: MOST, target: 0.7, iterations: 7 },
  { config: small, rows: 16, lanes: 2, trained: MOST, target: 0.7, iterations: 7 },
  { config: small, rows: 16, lanes: 1, trained: TURNS, iterations: 7 },
  { config: medium, rows: 8, lanes: 1, trained: MOST, target: 0.8, iterations: 5 },
  { config: medium, rows: 8, lanes: 2, trained: MOST, target: 0.8, iterations: 5 },
];

const flopsPerToken = ({ config, trained }: Case): number => {
  const read = trained / TIME;
  const policy = forwardFlops(config, TIME, { scored: true, read });
  const critic = forwardFlops(config, TIME, { scored: false, read });
  return FORWARD_AND_BACKWARD * (policy + critic) + critic;
};

const measureCase = async (given: Case): Promise<Measured> => {
  const { config, rows, lanes, trained, target, iterations } = given;
  await using trainer = await Trainer.open(config, randomWeights(config), {
    seed: 1,
    lanes,
    threads: 1,
    lossScaling: "none",
    totalUpdates: 100,
    ...learnerSections(),
  });
  let window = 0;
  const phases: Record<string, number[]> = { values: [] };
  const times = await repeat({ iterations, warmup: 2 }, async () => {
    const batch = batchOf({ rows, trained, time: TIME, vocabSize: config.vocabSize }, window++);
    const start = performance.now();
    const values = await trainer.values(batch);
    const valued = performance.now();
    const { seconds } = await trainer.update({ ...batch, values });
    const end = performance.now();
    phases.values!.push(valued - start);
    for (const [name, each] of seconds) {
      const phase = name.replace("timing_s/", "");
      phases[phase] ??= [];
      phases[phase].push(each * 1000);
    }
    return end - start;
  });
  const few = trained === MOST ? "" : `, ${trained} trained`;
  const title = `${sizeOf(config)}, ${rows} x ${TIME}${few}, ${lanes} lane${lanes === 1 ? "" : "s"}`;
  const tokens = rows * TIME;
  return (unit) => [
    figureOf(`${title}: share of the GEMM unit`, "", rates(times, (tokens * flopsPerToken(given)) / 1e6), {
      scale: 1 / (lanes === 1 ? unit.one : unit.two).median,
      ...(target === undefined ? {} : { target: { atLeast: target } }),
      note: `${(flopsPerToken(given) / 1e6).toFixed(2)} MFLOP per token`,
    }),
    figureOf(`${title}: tokens a second`, "1/s", rates(times, tokens * 1000)),
    ...Object.entries(phases).map(([phase, each]) =>
      figureOf(`${title}: ${phase}`, "ms", samplesOf(each.slice(-iterations))),
    ),
  ];
};

export const bench: Bench = {
  question: "what share of the GEMM unit does a whole update reach?",
  parts: cases.map((each) => () => measureCase(each)),
};
