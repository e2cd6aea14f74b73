/**
 * A real training run for benches of the whole engine: the quickstart with overrides, in a temporary folder, and the metrics of each step.
 * Without the embedded model it starts from random weights of the same shape, with short replies.
 */
import { existsSync } from "node:fs";
import { mkdtemp, readdir, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { Effect, type Scope } from "effect";
import { configDir } from "../pipelines/paths.ts";
import { train } from "../pipelines/train.ts";
import { load } from "../src/config/resolve.ts";
import { stream } from "../src/domain/Random.ts";
import { writeCheckpoint } from "../src/model/checkpoint/HuggingFaceFolder.ts";
import * as Model from "../src/model/Model.ts";
import * as Stop from "../src/support/process/Stop.ts";

/** One line of `metrics.jsonl`. */
export type Step = Readonly<Record<string, number>>;

const temporary: Effect.Effect<string, never, Scope.Scope> = Effect.acquireRelease(
  Effect.promise(() => mkdtemp(join(tmpdir(), "millrace-bench-"))),
  (path) => Effect.promise(() => rm(path, { recursive: true })),
);

const embedded = join(configDir, "models", "nano");

/** Overrides that name a model: none where the embedded one is there. */
const modelOverrides: Effect.Effect<readonly string[], never, Scope.Scope> = Effect.gen(function* () {
  if (existsSync(embedded)) return [`model.path=${embedded}`];
  const folder = yield* temporary;
  const { sft } = yield* load("sft_nano", [], configDir);
  const random = stream({ seed: 1, purpose: "initialisation", counters: [] });
  const model = yield* Model.randomModel(sft.architecture, random);
  yield* writeCheckpoint(folder, model.checkpoint);
  return [`model.path=${folder}`, "rollout.response_length=12"];
}).pipe(Effect.orDie);

const isStep = (value: unknown): value is Step => typeof value === "object" && value !== null && "step" in value;

const metricsFile = async (parent: string): Promise<string | undefined> => {
  const [run] = await readdir(parent).catch(() => []);
  return run === undefined ? undefined : join(parent, run, "metrics.jsonl");
};

const readSteps = async (parent: string): Promise<readonly Step[]> => {
  const file = await metricsFile(parent);
  const text = file === undefined ? "" : await readFile(file, "utf8").catch(() => "");
  // A line without an end is being written.
  const lines: readonly unknown[] = text
    .slice(0, text.lastIndexOf("\n") + 1)
    .split("\n")
    .filter(Boolean)
    .map((line) => JSON.parse(line));
  return lines.filter(isStep);
};

export interface TrainingRun {
  readonly overrides: readonly string[];
  /** Time after the first recorded step, or number of further steps, until the run is interrupted. */
  readonly lasts: { readonly seconds: number } | { readonly steps: number };
  /** Called once, when the first step has been recorded. */
  readonly stepped?: () => void;
  /** Lives from then on as long as the run; told the run's folder. */
  readonly beside?: (folder: string) => Effect.Effect<unknown, unknown, Scope.Scope>;
}

/** Trains without validation on every window whole (no filter), so that runs of the same windows do the same work. */
export const trainingRun = ({ beside, lasts, overrides, stepped }: TrainingRun): Promise<readonly Step[]> =>
  Effect.gen(function* () {
    const dir = yield* temporary;
    const config = yield* load(
      "quickstart",
      [
        `run.dir=${dir}`,
        "run.name=bench",
        "trainer.total_training_steps=10000",
        "trainer.val_before_train=false",
        "trainer.val_at_end=false",
        "trainer.test_freq=0",
        "trainer.save_freq=0",
        "trainer.empty_stop_steps=0",
        "filter.value=1",
        "filter.include_zero=true",
        "metrics.console=off",
        ...(yield* modelOverrides),
        ...overrides,
      ],
      configDir,
    );
    const steps = Effect.promise(() => readSteps(join(dir, "bench")));
    const recorded = (count: number): Effect.Effect<void> =>
      Effect.flatMap(steps, ({ length }) =>
        length >= count ? Effect.void : Effect.andThen(Effect.sleep(200), recorded(count)),
      );
    const enough = Effect.gen(function* () {
      yield* recorded(1);
      const file = yield* Effect.promise(() => metricsFile(join(dir, "bench")));
      if (beside !== undefined && file !== undefined) yield* beside(dirname(file));
      stepped?.();
      yield* "steps" in lasts ? recorded(1 + lasts.steps) : Effect.sleep(lasts.seconds * 1000);
      return yield* steps;
    });
    return yield* Effect.raceFirst(
      enough,
      Effect.andThen(Effect.provide(train({ config, resume: null }), Stop.layerWithoutSignals), Effect.never),
    );
  }).pipe(Effect.scoped, Effect.orDie, Effect.runPromise);

/** Milliseconds a step takes, the first left out; NaN where there was but one. */
export const pace = (steps: readonly Step[]): number => {
  const at = (step: Step | undefined): number => (step?.["timing_s/total"] ?? Number.NaN) * 1000;
  return (at(steps.at(-1)) - at(steps[0])) / (steps.length - 1);
};
