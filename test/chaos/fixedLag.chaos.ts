/**
 * Runs with a fixed lag, each killed once, over numbers of lanes and generator threads and beside more or less other work. All of them must end
 * with the same parameters to the bit. From 300 kills on (`MILLRACE_CHAOS_KILLS`) every combination is run, else one load for each.
 */
import { type ChildProcess, spawn } from "node:child_process";
import { join } from "node:path";
import { describe, it } from "@effect/vitest";
import { Effect } from "effect";
import { expect } from "vitest";
import { merge, type Tree } from "../../src/config/Tree.ts";
import { stream } from "../../src/domain/Random.ts";
import { parameterHash } from "../pipelines/tiny.ts";
import { recordedOnce, survived } from "./survived.ts";
import * as Trial from "./Trial.ts";

const seed = Number(process.env.MILLRACE_CHAOS_SEED ?? 1);
const steps = 8;
const random = stream({ seed, purpose: "noise", counters: [1] });

const lagged = {
  trainer: { total_training_steps: steps, save_freq: 3 },
  pipeline: { mode: "async", schedule: "fixed_lag", max_staleness: 2 },
  rollout: { max_turn: 3 },
} satisfies Tree;

const counts = [1, 2] as const;
const threadings = counts.flatMap((lanes) => counts.map((threads) => ({ lanes, threads })));
/** Processes that spin beside a run. */
const loads = [0, 1, 3] as const;

const isWhole = Number(process.env.MILLRACE_CHAOS_KILLS ?? 0) >= 300;
const cases = threadings.flatMap((threading, index) =>
  (isWhole ? loads : [loads[index % loads.length]!]).map((load) => ({ ...threading, load })),
);

const spin = (): ChildProcess => spawn(process.execPath, ["-e", "for (;;);"], { stdio: "ignore" });

/** Processes that take the run's cores, until the scope closes. */
const loaded = (count: number) =>
  Effect.acquireRelease(
    Effect.sync(() => Array.from({ length: count }, spin)),
    (processes) =>
      Effect.sync(() => {
        for (const process of processes) process.kill("SIGKILL");
      }),
  );

/** Kills a run some time after its first step, and lets it go on to its end. */
const killedOnce = Effect.fnUntraced(function* (trial: Trial.Trial) {
  const run = yield* Trial.millrace(trial.fresh);
  yield* Trial.said(run, "step ");
  const ms = random.int(600);
  setTimeout(() => run.child.kill("SIGKILL"), ms);
  const { signal } = yield* Effect.promise(() => run.ended);
  if (signal !== "SIGKILL") return false;
  const hasCheckpoint = Trial.checkpointsOf(trial.folder() ?? "").length > 0;
  const { code, stderr } = yield* Trial.outcome(hasCheckpoint ? trial.resume() : trial.fresh);
  expect([code, stderr]).toEqual([0, expect.anything()]);
  return true;
});

describe("a run with a fixed lag that is killed once", () => {
  it.live("ends with the same bits over lanes, generator threads and loads", () =>
    Effect.scoped(
      Effect.gen(function* () {
        const hashes = new Map<string, string>();
        let kills = 0;
        for (const { lanes, load, threads } of cases) {
          const model = { learner_lanes: lanes, generator_threads: threads };
          const trial = yield* Trial.make(merge(lagged, { model }));
          const wasKilled = yield* Effect.scoped(Effect.andThen(loaded(load), killedOnce(trial)));
          if (wasKilled) kills++;
          const folder = trial.folder() ?? "";
          survived(folder, steps);
          expect(recordedOnce(folder)).toEqual(Array.from({ length: steps }, (_, index) => index + 1));
          const hash = yield* parameterHash(join(folder, "checkpoints", `step-${steps}`));
          hashes.set(`${lanes} lanes, ${threads} threads, load ${load}`, hash);
        }
        console.log(`${hashes.size} runs, ${kills} kills`);
        expect(kills).toBeGreaterThan(hashes.size / 2);
        expect(new Set(hashes.values()).size, JSON.stringify([...hashes])).toBe(1);
      }),
    ),
  );
});
