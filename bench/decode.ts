/**
 * Measures how fast generator threads decode: 128 sequences a thread whose caches grow from 192 to 320 positions, 256
 * on average. The sampler, the stop matcher and the messages are included; prefill is not.
 */
import { Effect } from "effect";
import { type Bench, figureOf, type Measured } from "./Bench.ts";
import { ask, start, together } from "./generators.ts";
import { sizeOf, small } from "./models.ts";
import { rates, repeat } from "./samples.ts";

const BATCH = 128;
const FROM = 192;
const TOKENS = 128;

const measureThreads = (threads: 1 | 2): Promise<Measured> =>
  Effect.gen(function* () {
    const config = small;
    const generator = yield* start({ config, threads, slots: BATCH });
    let round = 0;
    const decode = Effect.gen(function* () {
      const first = BATCH * threads * round++;
      const sequences = Array.from({ length: BATCH * threads }, (_, i) => first + i);
      // The first reply has one token: when all have it, every prompt is cached and nobody decodes.
      yield* together(sequences, (sequence) =>
        ask(generator, { config, sequence, append: FROM - 2, maxTokens: 1, turn: 1 }),
      );
      const begun = performance.now();
      const replies = yield* together(sequences, (sequence) =>
        ask(generator, { config, sequence, append: 1, maxTokens: TOKENS, turn: 2 }),
      );
      const ms = performance.now() - begun;
      yield* together(sequences, generator.release);
      const tokens = replies.reduce((sum, { ids }) => sum + ids.length, 0);
      return (ms * BATCH * threads * TOKENS) / tokens;
    });
    const times = yield* Effect.promise(() => repeat({ iterations: 5, warmup: 1 }, () => Effect.runPromise(decode)));
    const perSecond = rates(times, BATCH * threads * TOKENS * 1000);
    const title = `${sizeOf(config)}, ${threads} generator thread${threads === 1 ? "" : "s"} of batch ${BATCH}`;
    const measured: Measured = (unit) => [
      figureOf(`${title}: per GFLOP/s of the unit at ${threads}`, "tok/s", perSecond, {
        scale: 1 / (threads === 1 ? unit.one : unit.two).median,
        target: { atLeast: 180 },
      }),
      figureOf(`${title}: tokens a second`, "1/s", perSecond),
    ];
    return measured;
  }).pipe(Effect.scoped, Effect.runPromise);

export const bench: Bench = {
  question: "how many tokens does the generator decode a second, per GFLOP/s?",
  parts: [() => measureThreads(1), () => measureThreads(2)],
};
