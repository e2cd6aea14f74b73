/** Going on with a run whose folder is damaged, in use or half-changed: what is refused changes nothing, and what can be used is. */
import {
  appendFileSync,
  cpSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { mkdtemp } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, it } from "@effect/vitest";
import { Effect } from "effect";
import { afterAll, beforeAll, expect } from "vitest";
import type { Parts } from "../../pipelines/train.ts";
import { checkContinuable } from "../../pipelines/trainingEnd.ts";
import type { Tree } from "../../src/config/Tree.ts";
import type { Run } from "../../src/engine/Run.ts";
import * as Checkpoints from "../../src/observe/record/Checkpoints.ts";
import * as PlainConsole from "../../src/observe/sinks/PlainConsole.ts";
import * as Manifest from "../../src/support/files/Manifest.ts";
import { tinyConfig } from "../build/tinyConfig.ts";
import { recorder } from "../observe/sinks/fixtures.ts";
import { treeOf } from "../support/files/tree.ts";
import { temporaryFolder } from "../temporaryFolder.ts";
import { collected } from "../warnings.ts";
import { parameterHash, train, writeModel } from "./tiny.ts";

/** Milliseconds on a machine that others use too; a second or two on a quiet one. */
const patience = 240_000;

/** A model and a run of it over three steps, of which the last two have checkpoints; and the numbers that four steps end with. */
let root: string;
let end: string;
/** Names of the new run's files when it began. */
let named: readonly string[];
const steps = (total: number): Tree => ({
  trainer: { save_freq: 1, max_checkpoints: 2, total_training_steps: total, trajectory_freq: 1 },
});
const runsIn = (dir: string): string => join(dir, "runs", "tiny");

beforeAll(async () => {
  root = await mkdtemp(join(tmpdir(), "millrace-resume-"));
  await Effect.runPromise(writeModel(root));
  const onStart = ({ folder }: { readonly folder: string }): void => {
    named = readdirSync(folder);
  };
  await Effect.runPromise(train({ config: tinyConfig(root, steps(3)), resume: null, parts: { onStart } }));
  renameSync(join(runsIn(root), readdirSync(runsIn(root))[0]!), join(root, "run"));
  cpSync(join(root, "run"), join(root, "whole"), { recursive: true });
  await Effect.runPromise(train({ config: tinyConfig(root, steps(4)), resume: join(root, "whole") }));
  end = await Effect.runPromise(parameterHash(join(root, "whole", "checkpoints", "step-4")));
}, patience);
afterAll(() => rmSync(root, { recursive: true, force: true }));

/** A copy of the run's folder. */
const copied = Effect.map(temporaryFolder, (dir) => {
  cpSync(join(root, "run"), join(dir, "run"), { recursive: true });
  return join(dir, "run");
});
const checkpoint = (folder: string, step: number, file = "") => join(folder, "checkpoints", `step-${step}`, file);
const goOn = (folder: string, changes: Tree = steps(4)) => train({ config: tinyConfig(root, changes), resume: folder });
const records = (folder: string, name = "metrics.jsonl"): readonly { readonly step: number }[] =>
  readFileSync(join(folder, name), "utf8")
    .trimEnd()
    .split("\n")
    .map((line) => JSON.parse(line));
const checkpoints = (folder: string) => readdirSync(join(folder, "checkpoints")).sort();

/** Turns one bit of a file over. */
const flip = (path: string): void => {
  const bytes = readFileSync(path);
  bytes[bytes.length - 9]! ^= 1;
  writeFileSync(path, bytes);
};
/** Changes the learner's state of a checkpoint, and its checksum with it. */
const relearn = async (folder: string, change: object): Promise<void> => {
  const path = join(folder, "learner.json");
  writeFileSync(path, JSON.stringify({ ...JSON.parse(readFileSync(path, "utf8")), ...change }));
  rmSync(join(folder, Manifest.MANIFEST));
  await Effect.runPromise(Manifest.seal(folder));
};

describe("a run without a step left", () => {
  it.effect("is refused with how to go on, and goes on with more steps", () =>
    Effect.gen(function* () {
      const folder = yield* copied;
      const { message } = yield* Effect.flip(checkContinuable(tinyConfig(root, steps(3)), folder));
      expect(message).toBe(
        `--resume: ${folder}: all 3 steps are done; to go on, set more of them: trainer.total_training_steps=6`,
      );
      yield* checkContinuable(tinyConfig(root, steps(4)), folder);
    }).pipe(Effect.scoped),
  );
});

describe("a run whose folder is removed while it goes on", () => {
  it.live(
    "fails and says so",
    () =>
      Effect.gen(function* () {
        const folder = yield* copied;
        const parts: Parts = {
          onStart: () => rmSync(folder, { recursive: true, force: true }),
        };
        const failing = train({ config: tinyConfig(root, steps(4)), resume: folder, parts });
        const error = yield* Effect.flip(failing);
        expect(error).toMatchObject({ _tag: "RunFolderGone", message: expect.stringContaining(folder) });
      }).pipe(Effect.scoped),
    patience,
  );

  it.live(
    "fails also where that is after its last write, and is not said to be completed",
    () =>
      Effect.gen(function* () {
        const folder = yield* copied;
        const { terminal, written } = recorder();
        const onStart = (run: Run): void => {
          run.events$.subscribe(({ _tag }) => {
            if (_tag === "CheckpointWritten") rmSync(folder, { recursive: true, force: true });
          });
        };
        const config = tinyConfig(root, steps(4));
        const failing = train({ config, resume: folder, parts: { onStart, sinks: [PlainConsole.make(terminal)] } });
        expect(yield* Effect.flip(failing)).toMatchObject({ _tag: "RunFolderGone" });
        expect(written.join("")).not.toContain("completed");
      }).pipe(Effect.scoped),
    patience,
  );
});

describe("a new run", () => {
  it("holds its folder from the first, and gives it back at the end", () => {
    expect(named).toContain("lock");
    expect(readdirSync(join(root, "run"))).not.toContain("lock");
  });
});

describe("a run that is gone on with", () => {
  it.live(
    "is refused a second time while it goes on, naming who holds it, and its lines are written once",
    () =>
      Effect.scoped(
        Effect.gen(function* () {
          const folder = yield* copied;
          const second: Promise<string>[] = [];
          const onStart = (): void => {
            second.push(Effect.runPromise(Effect.map(Effect.flip(goOn(folder)), ({ message }) => message)));
          };
          yield* train({ config: tinyConfig(root, steps(4)), resume: folder, parts: { onStart } });
          const [message] = yield* Effect.promise(() => Promise.all(second));
          expect(message).toContain(`${folder}: this process writes this run since`);
          expect(records(folder).map(({ step }) => step)).toEqual([1, 2, 3, 4]);
          expect(readdirSync(folder)).not.toContain("lock");
        }),
      ),
    patience,
  );

  const damages: readonly (readonly [string, string, (folder: string) => unknown])[] = [
    ["one bit of its weights is turned over", "model.safetensors", (at) => flip(join(at, "model.safetensors"))],
    [
      "one bit of its optimiser is turned over",
      "optimiser.safetensors",
      (at) => flip(join(at, "optimiser.safetensors")),
    ],
    ["it lacks its critic", "critic.safetensors", (at) => rmSync(join(at, "critic.safetensors"))],
    ["its learner is of another version, checksums and all", "learner.json", (at) => relearn(at, { schema: 99 })],
    [
      "its learner has made other versions than its run, checksums and all",
      "step-3",
      (at) => relearn(at, { version: 2 }),
    ],
  ];
  it.live.each(damages)(
    "falls back to the checkpoint before and ends with the same numbers where of the newest %s",
    ([, file, damage]) =>
      Effect.scoped(
        Effect.gen(function* () {
          const folder = yield* copied;
          yield* Effect.promise(async () => damage(checkpoint(folder, 3)));
          const { layer, lines } = collected();
          yield* Effect.provide(goOn(folder), layer);
          expect(lines).toHaveLength(1);
          expect(lines[0]).toContain(file);
          expect(lines[0]).toContain(`going on from ${join(folder, "checkpoints", "step-2")} instead`);
          expect(yield* parameterHash(checkpoint(folder, 4))).toBe(end);
          expect(records(folder).map(({ step }) => step)).toEqual([1, 2, 3, 4]);
          expect(records(folder, "trajectories.jsonl").map(({ step }) => step)).toEqual(
            records(join(root, "whole"), "trajectories.jsonl").map(({ step }) => step),
          );
          expect(checkpoints(folder)).toEqual(["step-3", "step-3.damaged", "step-4"]);
          expect((yield* Checkpoints.latest(join(folder, "checkpoints"))).state.step).toBe(4);
        }),
      ),
    patience,
  );

  it.live(
    "takes back what was moved aside by a save that was killed, and clears what is half-written",
    () =>
      Effect.scoped(
        Effect.gen(function* () {
          const folder = yield* copied;
          renameSync(checkpoint(folder, 3), `${checkpoint(folder, 3)}.replaced`);
          mkdirSync(join(folder, "checkpoints", "step-3.partial"));
          yield* goOn(folder);
          expect(yield* parameterHash(checkpoint(folder, 4))).toBe(end);
          expect(checkpoints(folder)).toEqual(["step-3", "step-4"]);
        }),
      ),
    patience,
  );

  it.live(
    "sets lines that are no records aside, with a count for each file",
    () =>
      Effect.scoped(
        Effect.gen(function* () {
          const folder = yield* copied;
          const logs = ["metrics.jsonl", "trajectories.jsonl"];
          for (const log of logs) appendFileSync(join(folder, log), '\0\xff noise\n{"step":\nnull\n{"step":4,"tor');
          const { layer, lines } = collected();
          yield* Effect.provide(goOn(folder), layer);
          expect(lines.toSorted()).toEqual(
            logs.map((log) => {
              const path = join(folder, log);
              return `${path}: 3 lines that are no records are set aside in ${path}.garbage`;
            }),
          );
          expect(records(folder).map(({ step }) => step)).toEqual([1, 2, 3, 4]);
          for (const log of logs) expect(records(folder, log).every(({ step }) => step > 0)).toBe(true);
        }),
      ),
    patience,
  );
});

describe("a run that is refused", () => {
  const overwrite = (path: string, change: (json: Record<string, never>) => object): void =>
    writeFileSync(path, JSON.stringify({ ...change(JSON.parse(readFileSync(path, "utf8"))) }));
  const cases: readonly {
    readonly name: string;
    readonly damage?: (folder: string) => void;
    readonly changes?: Tree;
    readonly message: string;
  }[] = [
    {
      name: "for checkpoints that are all damaged",
      damage: (folder) => {
        flip(checkpoint(folder, 2, "model.safetensors"));
        rmSync(checkpoint(folder, 3, "learner.json"));
      },
      message: "step-3/learner.json: no such file",
    },
    {
      name: "for impossible states",
      damage: (folder) => {
        for (const step of [2, 3])
          overwrite(checkpoint(folder, step, "run.json"), (json) => ({ ...json, step: -step }));
      },
      message: "step-3/run.json is not a run's state",
    },
    {
      name: "for a model of a million layers",
      damage: (folder) => {
        for (const step of [2, 3])
          overwrite(checkpoint(folder, step, "config.json"), (json) => ({ ...json, num_hidden_layers: 1_000_000 }));
      },
      message: "step-3/config.json: it has",
    },
    {
      name: "for other windows, though an older checkpoint is there",
      changes: { es_manager: { train: { env_groups: 4, n_groups: [4] } } },
      message: "es_manager.train.env_groups: 4",
    },
    {
      name: "for a log that is a folder",
      damage: (folder) => {
        rmSync(join(folder, "metrics.jsonl"));
        mkdirSync(join(folder, "metrics.jsonl"));
      },
      message: "metrics.jsonl: it is no regular file",
    },
    {
      name: "for a critic of another shape",
      changes: { critic: { layers: 1 } },
      message: "the moments of the critic have shape",
    },
  ];
  it.live.each(cases)(
    "leaves its folder as it was, half-written parts and all: $name",
    ({ changes = {}, damage, message }) =>
      Effect.scoped(
        Effect.gen(function* () {
          const folder = yield* copied;
          mkdirSync(join(folder, "checkpoints", "step-9.partial"));
          appendFileSync(join(folder, "trajectories.jsonl"), "noise\n");
          damage?.(folder);
          const before = treeOf(folder);
          const { layer } = collected();
          const config = { ...steps(4), run: { seed: 3 }, ...changes };
          const error = yield* Effect.flip(Effect.provide(goOn(folder, config), layer));
          expect(error._tag).toBe("BadInput");
          expect(error.message).toContain(message);
          expect(error.message).not.toContain("\n");
          expect(treeOf(folder)).toEqual(before);
        }),
      ),
    patience,
  );
});
