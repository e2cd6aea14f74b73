/**
 * Measures the cost of feeding sequences again that lost their slots. Sync and lockstep feed them exactly as before;
 * async prefills a whole history at once. Histories are four turns of 40 prompt tokens and replies of 40.
 */
import { Effect } from "effect";
import type * as Generator from "../src/generation/Generator.ts";
import { type Bench, type Figure, figureOf, type Measured } from "./Bench.ts";
import { ask, start, together } from "./generators.ts";
import { sizeOf, small } from "./models.ts";
import { type Samples, samplesOf } from "./samples.ts";

const SLOTS = 64;
const TURNS = 4;
const APPEND = 40;
const REPLY = 40;
/** Sequences that lose their slots and come back beside the others. */
const SOME = 8;
/** Tokens that the others sample meanwhile, longer than any refill takes. */
const DECODED = 320;
const ROUNDS = 5;

const config = small;
const range = (from: number, count: number): readonly number[] => Array.from({ length: count }, (_, i) => from + i);

const timed = Effect.fnUntraced(function* <A, E>(work: Effect.Effect<A, E>) {
  const begun = performance.now();
  yield* work;
  return performance.now() - begun;
});

/** Ms until all sequences of a generator have the next token, and until the others have sampled theirs, with and without lost slots. */
interface Times {
  readonly kept: number;
  readonly all: number;
  readonly beside: number;
}

/** Plays sequences `first` on, takes slots of theirs away by others, and lets them go on. */
const round = Effect.fnUntraced(function* (generator: Generator.Generator, first: number) {
  const sequences = range(first, SLOTS);
  const turn = (given: readonly number[], turn: number, append: number, maxTokens: number) =>
    together(given, (sequence) => ask(generator, { config, sequence, append, maxTokens, turn }));
  for (let t = 0; t < TURNS; t++) yield* turn(sequences, t, APPEND, REPLY);
  const kept = yield* timed(turn(sequences, TURNS, 1, 1));
  const strangers = range(first + SLOTS, SLOTS);
  yield* turn(strangers, 0, 1, 1);
  const all = yield* timed(turn(sequences, TURNS + 1, 1, 1));
  yield* together(strangers, generator.release);
  // The sequences that ended first lose their slots: one that is asked for nothing more is among them.
  const [returning, others] = [sequences.slice(0, SOME), sequences.slice(SOME)];
  yield* turn(others, TURNS + 2, 1, 1);
  yield* turn(strangers.slice(0, SOME), 1, 1, 1);
  yield* together(strangers, generator.release);
  const decoding = turn(others, TURNS + 3, 1, DECODED);
  const beside = yield* timed(Effect.all([decoding, turn(returning, TURNS + 2, 1, 1)], { concurrency: "unbounded" }));
  yield* together(sequences, generator.release);
  const times: Times = { kept, all, beside };
  return times;
});

const measure = (): Promise<Measured> =>
  Effect.gen(function* () {
    const [exact, fast] = yield* Effect.all([
      start({ config, threads: 1, slots: SLOTS, refills: "exact" }),
      start({ config, threads: 1, slots: SLOTS, refills: "fast" }),
    ]);
    const rounds: { readonly exact: Times; readonly fast: Times }[] = [];
    // The two take turns, so that what else the machine does falls on both.
    for (let i = 0; i <= ROUNDS; i++)
      rounds.push({ exact: yield* round(exact, 4 * SLOTS * i), fast: yield* round(fast, 4 * SLOTS * i) });
    const counted = rounds.slice(1);
    const each = (figureIn: (round: (typeof counted)[number]) => number): Samples => samplesOf(counted.map(figureIn));
    const title = `${sizeOf(config)}, histories of ${TURNS * (APPEND + REPLY)}`;
    const figures: readonly Figure[] = [
      figureOf(
        `${title}: ${SLOTS} refills at once, exact over fast`,
        "1",
        each(({ exact, fast }) => exact.all / fast.all),
      ),
      figureOf(
        `${title}: ${SOME} refills beside ${SLOTS - SOME} that sample ${DECODED}, exact over fast`,
        "1",
        each(({ exact, fast }) => exact.beside / fast.beside),
      ),
      figureOf(
        `${title}: ${SLOTS} exact refills at once`,
        "ms",
        each(({ exact }) => exact.all),
      ),
      figureOf(
        `${title}: ${SLOTS} fast refills at once`,
        "ms",
        each(({ fast }) => fast.all),
      ),
      figureOf(
        `${title}: the same with their slots`,
        "ms",
        each(({ exact }) => exact.kept),
      ),
    ];
    const measured: Measured = () => figures;
    return measured;
  }).pipe(Effect.scoped, Effect.runPromise);

export const bench: Bench = {
  question: "what does it cost to feed sequences again exactly as they were fed first?",
  parts: [measure],
};
