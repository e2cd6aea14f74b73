/** Runs whose threads die beside a page, sinks and agents: what is beside them goes on as if nothing had happened. */
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import type { Worker } from "node:worker_threads";
import { describe, it } from "@effect/vitest";
import { Effect } from "effect";
import { expect } from "vitest";
import { merge, type Tree } from "../../src/config/Tree.ts";
import type { Run } from "../../src/engine/Run.ts";
import { sinkOf } from "../../src/observe/sinks/sinkOf.ts";
import { packageRoot } from "../../src/support/files/packageRoot.ts";
import { freePortAbove } from "../../src/support/http/freePort.ts";
import { tinyConfig } from "../build/tinyConfig.ts";
import { recordedOnce, restartsOf, survived } from "../chaos/survived.ts";
import { newestIn } from "../chaos/Trial.ts";
import * as Recorded from "../observe/sinks/recorded.ts";
import { temporaryFolder } from "../temporaryFolder.ts";
import { killAt } from "./deaths.ts";
import { onThread, parameterHash, train, writeModel } from "./tiny.ts";

const steps = 5;
const place = Effect.tap(temporaryFolder, writeModel);
const usual: Tree = {
  trainer: { total_training_steps: steps, save_freq: 1, trajectory_freq: 1, trajectory_groups: 8, max_checkpoints: 2 },
};
const folderIn = (dir: string) => newestIn(join(dir, "runs", "tiny")) ?? "";
const hashOf = (folder: string, step = steps) => parameterHash(join(folder, "checkpoints", `step-${step}`));

/** Trains a new run of `dir` to its end and returns its folder. */
const trained = Effect.fnUntraced(function* (
  dir: string,
  changes: Tree = {},
  parts: NonNullable<Parameters<typeof train>[0]["parts"]> = {},
) {
  yield* train({ config: tinyConfig(dir, merge(usual, changes)), resume: null, parts });
  return folderIn(dir);
});

/** Milliseconds on a machine that others use too; some seconds on a quiet one. */
const patience = 120_000;

/** The messages of a page's stream about a run, until the page ends it. */
const heardFrom = async (url: string, onOpen: () => void): Promise<readonly (readonly [string, unknown])[]> => {
  const runs = (await (await fetch(`${url}/api/runs`)).json()) as readonly { readonly id: string }[];
  const { body } = await fetch(`${url}/api/runs/${encodeURIComponent(runs[0]!.id)}/live`);
  onOpen();
  let text = "";
  for await (const piece of body!.pipeThrough(new TextDecoderStream())) text += piece;
  return [...text.matchAll(/^event: (\w+)\ndata: (.*)$/gm)].map(([, name = "", data = ""]) => [name, JSON.parse(data)]);
};

describe("beside a thread that dies", () => {
  it.live(
    "the page keeps its port and its browsers, which hear of one end, and the folder keeps its lock",
    () =>
      Effect.scoped(
        Effect.gen(function* () {
          const dir = yield* place;
          const port = (yield* Effect.promise(() => freePortAbove("127.0.0.1", 21_000 + (process.pid % 9_000)))) ?? 0;
          const workers = new Map<string, Worker>();
          yield* onThread("", (worker) => workers.set(worker.threadName ?? "", worker));
          let heard: ReturnType<typeof heardFrom> | null = null;
          let isOpen = false;
          let isKilled = false;
          const locks = new Set<string>();
          const onStart = (run: Run): void => {
            heard = heardFrom(`http://127.0.0.1:${port}`, () => {
              isOpen = true;
            });
            let closedAfter = 0;
            let isRestarted = false;
            run.events$.subscribe((event) => {
              locks.add(readFileSync(join(run.folder, "lock"), "utf8"));
              if (event._tag === "Restarted") isRestarted = true;
              if (event._tag !== "StepClosed") return;
              if (isOpen && !isKilled) {
                isKilled = true;
                workers.get("generator-0")?.postMessage(null);
              } else if (isRestarted && ++closedAfter === 2) Effect.runFork(run.stop);
            });
          };
          const config = tinyConfig(dir, merge(usual, { trainer: { total_training_steps: 10_000 } }));
          const ended = yield* train({ config, resume: null, watch: port, parts: { onStart } });
          const messages = yield* Effect.promise(() => heard!);
          expect(restartsOf(folderIn(dir))).toHaveLength(1);
          expect(messages.filter(([name]) => name === "ended")).toEqual([["ended", "stopped"]]);
          const lines = messages.flatMap(([name, data]) =>
            name === "line" ? [data as { readonly step: number }] : [],
          );
          expect(lines.at(-1)?.step).toBe(ended.step);
          expect(locks.size).toBe(1);
        }),
      ),
    patience,
  );

  it.live(
    "W&B and TensorBoard have one run, and each step as metrics.jsonl has it",
    () =>
      Effect.scoped(
        Effect.gen(function* () {
          const dir = yield* place;
          // Answers of the learner: start, two updates, a save, two updates. Step 3 lies behind the checkpoint, and is recorded by then.
          yield* killAt(dir, "learner", "learner", 6);
          const seen: number[] = [];
          const counter = sinkOf({ name: "counter", essential: true, step: async ({ step }) => void seen.push(step) });
          const changes = { trainer: { save_freq: 2 }, metrics: { sinks: ["jsonl", "wandb", "tensorboard"] } };
          const folder = yield* trained(dir, changes, { sinks: [counter] });
          expect(restartsOf(folder)).toMatchObject([{ step: 2 }]);
          // The thread may die before step 4 is recorded, or after that.
          expect(seen.filter((step) => step === 3)).toHaveLength(2);

          const truth = Recorded.ofJsonLines(folder);
          expect([...truth.keys()]).toEqual([1, 2, 3, 4, 5]);
          expect(readdirSync(join(folder, "wandb")).filter((name) => name.startsWith("offline-run-"))).toHaveLength(1);
          expect(yield* Effect.promise(() => Recorded.ofWandb(folder))).toEqual(truth);
          const rounded = [...truth].map(
            ([step, numbers]) =>
              [step, new Map([...numbers].map(([name, value]) => [name, Math.fround(value)]))] as const,
          );
          expect(Recorded.ofTensorBoard(folder)).toEqual(new Map(rounded));
        }),
      ),
    patience,
  );

  it.live(
    "an agent is opened again, and the parameters are those of a run that lost no thread",
    () =>
      Effect.scoped(
        Effect.gen(function* () {
          const agent: Tree = {
            trainer: { total_training_steps: 3 },
            agent: { path: join(packageRoot, "test/agents/fixtures/forks.ts") },
            model: { path: join(packageRoot, "config/models/nano") },
            es_manager: { train: { tags: ["Agent"] }, val: { tags: ["Agent"] } },
            rollout: { response_length: 12, max_model_len: 640 },
          };
          const whole = yield* trained(yield* place, agent);
          const dir = yield* place;
          yield* killAt(dir, "generator-0", "learner", 5);
          const folder = yield* trained(dir, agent);
          expect(restartsOf(folder)).toMatchObject([{ reason: expect.stringContaining("generator-0") }]);
          recordedOnce(folder);
          expect(yield* hashOf(folder, 3)).toBe(yield* hashOf(whole, 3));
        }),
      ),
    patience,
  );
});

describe("a generator thread that is terminated", () => {
  it.live(
    "does not end the run, nor change its parameters",
    () =>
      Effect.scoped(
        Effect.gen(function* () {
          const whole = yield* trained(yield* place);
          const dir = yield* place;
          const workers = new Map<string, Worker>();
          yield* onThread("", (worker) => workers.set(worker.threadName ?? "", worker));
          let isTerminated = false;
          const onStart = (run: Run): void =>
            void run.events$.subscribe((event) => {
              // No reply is made while a sync run trains, so that the thread is not inside native code.
              if (event._tag !== "Learning" || event.window !== 2 || isTerminated) return;
              isTerminated = true;
              void workers.get("generator-0")?.terminate();
            });
          const folder = yield* trained(dir, {}, { onStart });
          survived(folder, steps);
          expect(restartsOf(folder)).toMatchObject([{ reason: expect.stringContaining("generator-0 ended") }]);
          expect(yield* hashOf(folder)).toBe(yield* hashOf(whole));
        }),
      ),
    patience,
  );
});
