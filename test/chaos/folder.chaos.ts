/** Harm to a run's folder between two of its processes, or beside one: a second writer, damage, poisoned numbers, garbage. */
import { createHash } from "node:crypto";
import {
  appendFileSync,
  cpSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  truncateSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { describe, it } from "@effect/vitest";
import { Effect } from "effect";
import { expect } from "vitest";
import { stream } from "../../src/domain/Random.ts";
import * as Manifest from "../../src/support/files/Manifest.ts";
import { plant } from "../learner/plant.ts";
import { parameterHash } from "../pipelines/tiny.ts";
import { temporaryFolder } from "../temporaryFolder.ts";
import { survived } from "./survived.ts";
import * as Trial from "./Trial.ts";

const seed = Number(process.env.MILLRACE_CHAOS_SEED ?? 1);
const random = stream({ seed, purpose: "play", counters: [] });

/** Every file below a folder with a hash of its content. */
const contentOf = (folder: string): readonly string[] =>
  readdirSync(folder, { recursive: true, encoding: "utf8" })
    .filter((name) => statSync(join(folder, name)).isFile())
    .sort()
    .map(
      (name) =>
        `${name} ${createHash("sha256")
          .update(readFileSync(join(folder, name)))
          .digest("hex")}`,
    );

const steps = 8;

/** A run that stopped at step 5 with checkpoints of steps 4 and 5, and the parameters it ends with when nothing happens to it. */
const halfway = Effect.gen(function* () {
  const trial = yield* Trial.make({ trainer: { total_training_steps: steps } });
  expect(yield* Trial.outcome([...trial.fresh, "trainer.total_training_steps=5"])).toMatchObject({ code: 0 });
  const folder = trial.folder() ?? "";
  const kept = yield* temporaryFolder;
  cpSync(folder, kept, { recursive: true });
  const goOn = [...trial.resume(), `trainer.total_training_steps=${steps}`];
  expect(yield* Trial.outcome(goOn)).toMatchObject({ code: 0, stderr: "" });
  const hash = yield* parameterHash(join(folder, "checkpoints", `step-${steps}`));
  const restore = (): void => {
    rmSync(folder, { recursive: true });
    cpSync(kept, folder, { recursive: true });
  };
  return { trial, folder, goOn, hash, restore };
});

describe("a second writer", () => {
  it.live("is refused while the first runs; a killed one's folder is taken over with a word", () =>
    Effect.scoped(
      Effect.gen(function* () {
        const trial = yield* Trial.make({ trainer: { total_training_steps: 12 } });
        const first = yield* Trial.millrace([...trial.fresh, "trainer.total_training_steps=100000"]);
        yield* Trial.said(first, "step      3/");
        const refused = yield* Trial.outcome(trial.resume());
        expect([refused.code, refused.stderr.trimEnd().split("\n")]).toEqual([
          2,
          [expect.stringContaining(`${first.child.pid}`)],
        ]);
        first.child.kill("SIGKILL");
        yield* Effect.promise(() => first.ended);
        const last = Trial.checkpointsOf(trial.folder() ?? "").at(-1) ?? 0;
        const resumed = yield* Trial.outcome([...trial.resume(), `trainer.total_training_steps=${last + 2}`]);
        expect([resumed.code, resumed.stderr.trimEnd().split("\n")]).toEqual([
          0,
          [expect.stringContaining(`${first.child.pid}`)],
        ]);
        survived(trial.folder() ?? "", last + 2);
      }),
    ),
  );
});

/** Ways to damage a file; a byte is changed, the end or the whole file is lost, or it is replaced by noise. */
const damages: readonly ((path: string) => void)[] = [
  (path) => {
    const bytes = readFileSync(path);
    const at = random.int(Math.max(1, bytes.length));
    bytes[at] = (bytes[at] ?? 0) ^ (1 + random.int(255));
    writeFileSync(path, bytes);
  },
  (path) => truncateSync(path, random.int(Math.max(1, statSync(path).size))),
  (path) => rmSync(path),
  (path) => writeFileSync(path, Buffer.from(Array.from({ length: 64 }, () => random.int(256)))),
];

describe("a damaged checkpoint", () => {
  it.live("falls back to the one before, names both, and ends in the same bits", () =>
    Effect.scoped(
      Effect.gen(function* () {
        const { folder, goOn, hash, restore } = yield* halfway;
        restore();
        const newest = join(folder, "checkpoints", "step-5");
        for (const file of random.shuffle(readdirSync(newest)).slice(0, 8)) {
          restore();
          random.pick(damages)(join(newest, file));
          const { code, stderr } = yield* Trial.outcome(goOn);
          expect([file, code, stderr]).toEqual([file, 0, expect.stringMatching(/step-5.*step-4/)]);
          survived(folder, steps, ["step-5.damaged"]);
          expect(yield* parameterHash(join(folder, "checkpoints", `step-${steps}`))).toBe(hash);
        }
      }),
    ),
  );

  it.live("is refused where none before it is good, and the folder stays as it was", () =>
    Effect.scoped(
      Effect.gen(function* () {
        const { folder, goOn, restore } = yield* halfway;
        restore();
        for (const step of [4, 5]) truncateSync(join(folder, "checkpoints", `step-${step}`, "model.safetensors"), 100);
        const before = contentOf(folder);
        const { code, stderr } = yield* Trial.outcome([...goOn, "actor.lr=1e-4"]);
        expect([code, stderr]).toEqual([2, expect.stringContaining("step-5")]);
        expect(contentOf(folder)).toEqual(before);
      }),
    ),
  );
});

describe("a poisoned checkpoint", () => {
  /** Plants a NaN and seals the checkpoint again, so that only its numbers tell. */
  const poison = Effect.fnUntraced(function* (folder: string, step: number) {
    const checkpoint = join(folder, "checkpoints", `step-${step}`);
    yield* plant(join(checkpoint, "optimiser.safetensors"), "actor.first", 3, 0x7fc00000);
    rmSync(join(checkpoint, "manifest.json"));
    yield* Manifest.seal(checkpoint);
  });

  it.live("is passed over for the one before; where both are poisoned, the run is refused with the tensor's name", () =>
    Effect.scoped(
      Effect.gen(function* () {
        const { folder, goOn, hash, restore } = yield* halfway;
        restore();
        yield* poison(folder, 5);
        const fallen = yield* Trial.outcome(goOn);
        expect([fallen.code, fallen.stderr]).toEqual([0, expect.stringMatching(/actor\.first.*NaN.*step-4/)]);
        expect(yield* parameterHash(join(folder, "checkpoints", `step-${steps}`))).toBe(hash);
        restore();
        yield* poison(folder, 4);
        yield* poison(folder, 5);
        const refused = yield* Trial.outcome(goOn);
        expect([refused.code, refused.stderr]).toEqual([2, expect.stringMatching(/actor\.first.*NaN/)]);
      }),
    ),
  );
});

describe("garbage in a log", () => {
  it.live("is set aside with a count, and the run goes on", () =>
    Effect.scoped(
      Effect.gen(function* () {
        const { folder, goOn, hash, restore } = yield* halfway;
        restore();
        for (const log of ["metrics.jsonl", "trajectories.jsonl", "validations.jsonl"]) {
          appendFileSync(join(folder, log), Buffer.from([0xff, 0xfe, 0x00, 0x0a, 0x7b, 0x22, 0x73, 0x0a]));
        }
        const { code, stderr } = yield* Trial.outcome(goOn);
        expect([code, stderr]).toEqual([0, expect.stringMatching(/metrics\.jsonl/)]);
        survived(folder, steps);
        expect(yield* parameterHash(join(folder, "checkpoints", `step-${steps}`))).toBe(hash);
      }),
    ),
  );
});
