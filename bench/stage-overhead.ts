/**
 * Measures what the stages themselves cost an item: four flow stages that do nothing, gauges on, at several items in
 * flight. It compares them with the same line over Effect's Queue and Semaphore, gauges on too, in place of the
 * package's Inbox.
 */
import { Cause, Effect, Queue, Semaphore } from "effect";
import * as Permits from "../src/flow/admission/Permits.ts";
import { clockedGauge } from "../src/flow/clockedGauge.ts";
import * as Pipeline from "../src/flow/Pipeline.ts";
import * as Stage from "../src/flow/Stage.ts";
import { type Bench, type Figure, figureOf } from "./Bench.ts";
import { repeat, type Samples, samplesOf } from "./samples.ts";

const ITEMS = 20_000;
const STAGES = 4;
const INBOX = 8;
const concurrencies = [1, 16, 64, 256, 1024] as const;

type Work = (item: number) => Effect.Effect<number>;
const works: Readonly<Record<string, Work>> = {
  "that answers at once": (item) => Effect.succeed(item + 1),
  "that yields to others": (item) => Effect.as(Effect.yieldNow, item + 1),
};

const pass = (concurrency: number, work: Work): Effect.Effect<void> =>
  Effect.gen(function* () {
    const stages = yield* Effect.forEach(Array.from({ length: STAGES }), (_, index) =>
      Stage.flow({ name: `stage ${index}`, inbox: INBOX, concurrency, run: work }),
    );
    const source = Pipeline.fromIterable(Array(ITEMS).keys());
    yield* stages.reduce((line, stage) => line.to(stage), source).run;
  });

/** One stage over Effect's own parts: a bounded queue, and a semaphore that a live concurrency would resize. */
const effectStage = Effect.fnUntraced(function* (
  name: string,
  concurrency: number,
  work: Work,
  input: Queue.Queue<number, Cause.Done>,
  output: Queue.Queue<number, Cause.Done> | null,
): Effect.fn.Return<void> {
  const gauge = yield* clockedGauge({ name, kind: "flow", concurrency, capacity: INBOX });
  const slots = yield* Semaphore.make(concurrency);
  const one = Effect.gen(function* () {
    const item = yield* Queue.take(input);
    gauge.enqueued();
    gauge.begun();
    const result = yield* work(item);
    gauge.finished();
    if (output !== null) yield* Queue.offer(output, result);
    gauge.delivered();
  });
  const worker: Effect.Effect<void> = Effect.forever(slots.withPermits(1)(one), { disableYield: true }).pipe(
    Effect.catchIf(Cause.isDone, () => Effect.void),
  );
  yield* Effect.all(
    Array.from({ length: concurrency }, () => worker),
    { concurrency: "unbounded", discard: true },
  );
  if (output !== null) yield* Queue.end(output);
});

const effectPass = (concurrency: number, work: Work): Effect.Effect<void> =>
  Effect.gen(function* () {
    const inputs = yield* Effect.forEach(Array(STAGES), () => Queue.bounded<number, Cause.Done>(INBOX));
    const [first] = inputs;
    if (first === undefined) return;
    const feed = Effect.andThen(
      Effect.forEach(Array(ITEMS).keys(), (item) => Queue.offer(first, item), { discard: true }),
      Queue.end(first),
    );
    const stages = inputs.map((input, index) =>
      effectStage(`stage ${index}`, concurrency, work, input, inputs[index + 1] ?? null),
    );
    yield* Effect.all([feed, ...stages], { concurrency: "unbounded", discard: true });
  });

const CALLERS = 10_000;
const SLOTS = 8;

/** `CALLERS` fibers that each hold one of `SLOTS` permits for a moment. */
const crowd = (withPermit: (effect: Effect.Effect<void>) => Effect.Effect<void>): Effect.Effect<void> =>
  Effect.all(
    Array.from({ length: CALLERS }, () => withPermit(Effect.yieldNow)),
    { concurrency: "unbounded", discard: true },
  );

const permits: Readonly<Record<string, Effect.Effect<void>>> = {
  "our slots": Effect.suspend(() => {
    const slots = Permits.makeUnsafe(SLOTS);
    return crowd((effect) => Effect.andThen(slots.acquire, Effect.ensuring(effect, Effect.sync(slots.release))));
  }),
  "Effect's Semaphore": Effect.suspend(() => crowd(Semaphore.makeUnsafe(SLOTS).withPermits(1))),
};

type Pass = (concurrency: number, work: Work) => Effect.Effect<void>;

const microseconds = async (concurrency: number, work: Work, line: Pass = pass): Promise<Samples> =>
  samplesOf(
    (await repeat({ iterations: 5, warmup: 2 }, () => Effect.runPromise(line(concurrency, work)))).map(
      (ms) => (ms * 1000) / ITEMS,
    ),
  );

export const bench: Bench = {
  question: "what do four stages with gauges cost an item?",
  parts: [
    async () => {
      const figures: Figure[] = [];
      for (const [name, work] of Object.entries(works)) {
        for (const concurrency of concurrencies) {
          figures.push(
            figureOf(`work ${name}, concurrency ${concurrency}`, "us", await microseconds(concurrency, work), {
              target: { atMost: 30 },
            }),
            figureOf(`… over Effect's Queue and Semaphore`, "us", await microseconds(concurrency, work, effectPass)),
          );
        }
      }
      return () => figures;
    },
    async () => {
      const figures: Figure[] = [];
      for (const [name, program] of Object.entries(permits)) {
        const times = await repeat({ iterations: 5, warmup: 1 }, () => Effect.runPromise(program));
        const each = samplesOf(times.map((ms) => (ms * 1000) / CALLERS));
        figures.push(figureOf(`a call among ${CALLERS} that wait for ${SLOTS} slots, ${name}`, "us", each));
      }
      return () => figures;
    },
  ],
};
