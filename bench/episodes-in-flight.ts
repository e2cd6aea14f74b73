/**
 * Measures whether ten thousand episodes at once cost more each than a thousand. All wait for a null model, which
 * answers them in rounds. The figures are time per episode, and the heap of an episode in its last turn without the
 * bytes of its ids, log-probabilities and versions.
 */
import { Effect, Fiber } from "effect";
import type { Prompt } from "../src/domain/Group.ts";
import { Environments } from "../src/env/contract/Environments.ts";
import * as Pipeline from "../src/flow/Pipeline.ts";
import * as Stage from "../src/flow/Stage.ts";
import { Policy } from "../src/generation/Policy.ts";
import * as Group from "../src/rollout/group.ts";
import { promptOf } from "../test/build/groups.ts";
import { type Bench, figureOf } from "./Bench.ts";
import * as NullModel from "./nullModel.ts";
import { samplesOf } from "./samples.ts";

const GROUP_SIZE = 16;
const TURNS = 5;
const FEW = 1_000;
const MANY = 10_000;

interface Cost {
  /** Microseconds per episode. */
  readonly time: number;
  /** Heap bytes per episode while all wait for the reply of their last turn. */
  readonly heap: number;
}

const heapNow = (): number => {
  global.gc?.();
  return process.memoryUsage().heapUsed;
};

/** Heap bytes of an episode's ids, log-probabilities and versions as arrays, its last turn's reply left out. */
const tokenHeap = (): number => {
  const COUNT = 2000;
  const before = heapNow();
  const replies = Array.from({ length: COUNT }, () =>
    Array.from({ length: TURNS - 1 }, () => [NullModel.reply(), new Int32Array(8)]),
  );
  const bytes = (heapNow() - before) / COUNT;
  return replies.length === COUNT ? bytes : Number.NaN;
};

const play = (inFlight: number): Effect.Effect<Cost> =>
  Effect.gen(function* () {
    const groups = Math.ceil(inFlight / GROUP_SIZE);
    const episodes = groups * GROUP_SIZE;
    let waiting: (() => void)[] = [];
    const everyone = (): Effect.Effect<void> =>
      Effect.callback<void>((resume) => {
        waiting.push(() => resume(Effect.void));
      });
    const policy = NullModel.policy(everyone);
    const generate = yield* Stage.service({ name: "generate", concurrency: episodes, run: policy.generate });
    const environments = NullModel.environments(() => Effect.void);
    const step = yield* Stage.service({ name: "step", concurrency: episodes, run: environments.step });
    const rollout = NullModel.rollout(TURNS);
    const stage = yield* Stage.flow({
      name: "rollout",
      inbox: 1,
      concurrency: groups,
      run: (prompt: Prompt) => Group.play(rollout, NullModel.mode, prompt),
    });
    const prompts = Array.from({ length: groups }, (_, group) => promptOf(group, GROUP_SIZE, { tag: "Null" }));
    const before = heapNow();
    const begun = performance.now();
    const running = yield* Effect.forkChild(
      Pipeline.fromIterable(prompts)
        .to(stage)
        .run.pipe(
          Effect.provideService(Policy, { ...policy, generate: generate.call }),
          Effect.provideService(Environments, { ...environments, step: step.call }),
        ),
      { startImmediately: true },
    );
    let heap = 0;
    let measuring = 0;
    for (let turn = 1; turn <= TURNS; turn++) {
      while (waiting.length < episodes) yield* Effect.promise(() => new Promise((resolve) => setImmediate(resolve)));
      if (turn === TURNS) {
        const paused = performance.now();
        heap = (heapNow() - before) / episodes;
        measuring = performance.now() - paused;
      }
      const round = waiting;
      waiting = [];
      for (const answer of round) answer();
    }
    yield* Effect.orDie(Fiber.join(running));
    return { time: ((performance.now() - begun - measuring) * 1000) / episodes, heap };
  });

export const bench: Bench = {
  question: "do ten thousand episodes in flight cost more each than a thousand?",
  parts: [
    async () => {
      const costs = async (inFlight: number, repetitions: number): Promise<readonly Cost[]> => {
        const all: Cost[] = [];
        for (let i = 0; i < repetitions; i++) all.push(await Effect.runPromise(play(inFlight)));
        return all;
      };
      await costs(FEW, 5);
      const tokens = tokenHeap();
      const few = await costs(FEW, 9);
      const many = await costs(MANY, 5);
      const time = (measuredCosts: readonly Cost[]) => samplesOf(measuredCosts.map((cost) => cost.time));
      const heap = (measuredCosts: readonly Cost[]) =>
        samplesOf(measuredCosts.map((cost) => (cost.heap - tokens) / 1000));
      return () => [
        {
          name: `time of an episode, ${MANY} in flight over ${FEW}`,
          value: time(many).median / time(few).median,
          unit: "",
          target: { atMost: 1.25 },
          note: "flat; the rest is the garbage collector's larger heap",
        },
        figureOf(`time of an episode of ${TURNS} turns, ${FEW} in flight`, "us", time(few)),
        figureOf(`time of an episode of ${TURNS} turns, ${MANY} in flight`, "us", time(many)),
        figureOf(`heap of an episode beside its tokens, ${MANY} in flight`, "kB", heap(many), {
          target: { atMost: 10 },
        }),
        figureOf(`heap of an episode beside its tokens, ${FEW} in flight`, "kB", heap(few)),
        { name: "heap of its tokens", value: tokens / 1000, unit: "kB" },
      ];
    },
  ],
};
