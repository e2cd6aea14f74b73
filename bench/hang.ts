/**
 * Measures what steps that hang or crash cost the others. Episodes are played through the step pool as rollouts play
 * them, in groups of one instance, with a faulty step in 50 and without. It counts answered steps; the time limit and
 * the pool are the run file's defaults.
 */
import module from "node:module";
import { Context, Effect, Layer } from "effect";
import type { StreamKey } from "../src/domain/Random.ts";
import { Environments, type View } from "../src/env/contract/Environments.ts";
import { gamesUrl } from "../src/env/games/registry.ts";
import { layerThreads, StepPool } from "../src/env/pool/StepPool.ts";
import * as Permits from "../src/flow/admission/Permits.ts";
import { configWith } from "../test/build/config.ts";
import type { Bench, Figure, Measured } from "./Bench.ts";

// As the command line has it: a thread starts in half the time.
module.enableCompileCache();

const TAG = "Misbehaving";
const SIZE = 16;
/** Groups and episodes in flight: as `async` has them by default. */
const GROUPS = 24;
const EPISODES = 128;

type Fault = { readonly fault: "none" | "hang" | "exit"; readonly by: "instance" | "noise" };

interface Tally {
  readonly stepsPerSecond: number;
  readonly failed: number;
  readonly answered: number;
  readonly lost: number;
}

const noiseOf = (group: number, member: number, turn: number): StreamKey => ({
  seed: 0,
  purpose: "noise",
  counters: [group, member, turn],
});

/** Plays groups without an end; `count` is told of each step. */
const play = Effect.fnUntraced(function* (count: (ok: boolean) => void) {
  const { reset, step } = yield* Environments;
  const slots = Permits.makeUnsafe(EPISODES);
  let next = 0;
  const episode = Effect.fnUntraced(function* (group: number, member: number, start: View) {
    yield* slots.acquire;
    let { state } = start;
    const instance = start.contentKey;
    for (let turn = 0; ; turn++) {
      const answered = yield* step({
        tag: TAG,
        state,
        actions: ["go"],
        noise: noiseOf(group, member, turn),
        instance,
      }).pipe(Effect.catchTag("StepFailure", () => Effect.succeed(null)));
      count(answered !== null);
      if (answered === null || answered.terminated) break;
      state = answered.view.state;
    }
    slots.release();
  });
  const groups = Effect.forever(
    Effect.suspend(() => {
      const group = next++;
      return Effect.flatMap(
        reset({ tag: TAG, instance: { seed: group, purpose: "instance", counters: [] }, split: "train" }),
        (view) =>
          Effect.forEach(Array.from({ length: SIZE }), (_, member) => episode(group, member, view), {
            concurrency: "unbounded",
            discard: true,
          }),
      );
    }),
  );
  return yield* Effect.forEach(Array.from({ length: GROUPS }), () => groups, {
    concurrency: "unbounded",
    discard: true,
  });
});

const measure = (workMs: number, fault: Fault, seconds: number): Promise<Tally> => {
  const pipeline = configWith().pipeline;
  const layer = layerThreads({
    registry: gamesUrl,
    presets: {
      [TAG]: {
        env_type: new URL("./fixtures/misbehaving.ts", import.meta.url).pathname,
        env_config: { work_ms: workMs, ...fault },
      },
    },
    threads: pipeline.step_threads,
    concurrency: pipeline.step_concurrency,
    timeoutMs: pipeline.step_timeout_ms,
    spares: pipeline.step_spares,
    quarantine: pipeline.step_quarantine,
    giveWay: pipeline.step_give_way,
  });
  const run = Effect.gen(function* () {
    const context = yield* Layer.build(layer);
    let answered = 0;
    let failed = 0;
    const began = performance.now();
    const endless = play((ok) => {
      if (ok) answered++;
      else failed++;
    });
    yield* Effect.timeoutOption(Effect.provideContext(endless, context), seconds * 1000);
    const spent = (performance.now() - began) / 1000;
    const { lostThreads: lost } = Context.get(context, StepPool).faults();
    return { stepsPerSecond: answered / spent, answered, failed, lost };
  });
  return Effect.runPromise(Effect.scoped(Effect.orDie(run)));
};

/** Computing time of a step: that of the environments of this package is a hundredth of it, a user's may be anything. */
const WORK_MS = 10;

const cases = [
  { name: "one instance in 50 hangs", fault: { fault: "hang", by: "instance" }, seconds: 30, atMost: 1.5 },
  { name: "one step in 50 hangs, by its noise", fault: { fault: "hang", by: "noise" }, seconds: 30, atMost: 1.5 },
  { name: "one instance in 50 exits", fault: { fault: "exit", by: "instance" }, seconds: 10, atMost: 1.2 },
  { name: "one step in 50 exits, by its noise", fault: { fault: "exit", by: "noise" }, seconds: 10, atMost: 1.2 },
] as const;

export const bench: Bench = {
  question: "how many times longer do the other steps take when one in 50 hangs for its 5 s, or calls process.exit?",
  parts: [
    async (): Promise<Measured> => {
      const none = await measure(WORK_MS, { fault: "none", by: "noise" }, 10);
      const figures: Figure[] = [];
      for (const { atMost, fault, name, seconds } of cases) {
        const tally = await measure(WORK_MS, fault, seconds);
        figures.push({
          name,
          value: none.stepsPerSecond / tally.stepsPerSecond,
          unit: "x",
          target: { atMost },
          note: `${Math.round(none.stepsPerSecond)} and ${Math.round(tally.stepsPerSecond)} steps a second over ${seconds} s; ${tally.failed} failed, ${tally.lost} threads lost`,
        });
      }
      return () => figures;
    },
  ],
};
