import { mkdir, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, it } from "@effect/vitest";
import { Deferred, Effect, Fiber } from "effect";
import { expect } from "vitest";
import { BadInput } from "../../src/domain/Errors.ts";
import * as Position from "../../src/domain/Position.ts";
import * as RunState from "../../src/domain/RunState.ts";
import * as StepFolders from "../../src/files/StepFolders.ts";
import * as Checkpoints from "../../src/record/Checkpoints.ts";
import * as RunFolder from "../../src/record/RunFolder.ts";
import { temporaryFolder } from "../engine/fakes.ts";

const counts = { admitted: 4, trained: 2, filtered: 1, failed: 0, dropped: 1 };
const stateAt = (step: number): RunState.RunState => ({
  ...RunState.initial,
  step,
  position: Position.start({ consumed: step, groups: 4, version: step }),
  seeds: { next: 4, returned: [3] },
  emptyInARow: 1,
  ledger: { ...RunState.initial.ledger, groups: counts, tokens: counts },
  seconds: 1.5,
});

const writing = (text: string) => (into: string) => Effect.promise(() => writeFile(join(into, "weights"), text));
const weights = (folder: string, step: number) =>
  Effect.promise(() => readFile(join(StepFolders.path(folder, step), "weights"), "utf8"));
const names = (folder: string) => Effect.promise(async () => (await readdir(folder)).sort());

describe("checkpoints", () => {
  it.live("come back as they were saved, the newest first, and only the newest are kept", () =>
    Effect.scoped(
      Effect.gen(function* () {
        const folder = yield* temporaryFolder;
        for (const step of [2, 9, 10]) yield* Checkpoints.save(folder, stateAt(step), 2, writing(`${step}`));
        expect(yield* names(folder)).toEqual(["step-10", "step-9"]);
        expect(yield* Checkpoints.list(folder)).toEqual([9, 10]);
        expect(yield* Checkpoints.latest(folder)).toEqual({
          path: StepFolders.path(folder, 10),
          state: { ...stateAt(10), checkpoint: { step: 10, folder: StepFolders.path(folder, 10) } },
        });
      }),
    ),
  );

  it.live("clear away what a killed run left of a later one", () =>
    Effect.scoped(
      Effect.gen(function* () {
        const folder = yield* temporaryFolder;
        yield* Effect.promise(() => mkdir(join(folder, "step-7.partial")));
        yield* Checkpoints.save(folder, stateAt(5), 1, writing("good"));
        expect(yield* names(folder)).toEqual(["step-5"]);
      }),
    ),
  );

  it.live("are not replaced by one that fails half-way, nor by one that is interrupted", () =>
    Effect.scoped(
      Effect.gen(function* () {
        const folder = yield* temporaryFolder;
        yield* Checkpoints.save(folder, stateAt(1), 1, writing("good"));
        const failing = (into: string) => Effect.andThen(writing("half")(into), Effect.fail("disk full" as const));
        for (const step of [1, 2]) {
          expect(yield* Effect.flip(Checkpoints.save(folder, stateAt(step), 1, failing))).toBe("disk full");
        }
        const begun = Deferred.makeUnsafe<void>();
        const hanging = (into: string) =>
          writing("half")(into).pipe(Effect.andThen(Deferred.succeed(begun, undefined)), Effect.andThen(Effect.never));
        const saving = yield* Effect.forkChild(Checkpoints.save(folder, stateAt(2), 1, hanging));
        yield* Deferred.await(begun);
        expect((yield* Checkpoints.latest(folder)).state.step).toBe(1);
        yield* Fiber.interrupt(saving);
        expect(yield* names(folder)).toEqual(["step-1"]);
        expect(yield* weights(folder, 1)).toBe("good");
      }),
    ),
  );

  it.live("leave out what a killed process left beside them", () =>
    Effect.scoped(
      Effect.gen(function* () {
        const folder = yield* temporaryFolder;
        yield* Checkpoints.save(folder, stateAt(1), 1, writing("good"));
        yield* Effect.promise(() => mkdir(join(folder, "step-2.partial")));
        yield* Effect.promise(() => writeFile(join(folder, "step-2.partial", "weights"), "half"));
        expect((yield* Checkpoints.latest(folder)).state.step).toBe(1);
        yield* Checkpoints.save(folder, stateAt(2), 1, () => Effect.void);
        expect(yield* Effect.promise(() => readdir(StepFolders.path(folder, 2)))).toEqual([
          "manifest.json",
          "run.json",
        ]);
      }),
    ),
  );

  it.live("are bad input, naming the file, where the run's state is missing or cut", () =>
    Effect.scoped(
      Effect.gen(function* () {
        const folder = yield* temporaryFolder;
        const path = yield* Checkpoints.save(folder, stateAt(1), 1, writing("good"));
        const file = join(path, "run.json");
        const text = yield* Effect.promise(() => readFile(file, "utf8"));
        for (const damage of [() => writeFile(file, text.slice(0, 40)), () => writeFile(file, "{}"), () => rm(file)]) {
          yield* Effect.promise(damage);
          const error = yield* Effect.flip(Checkpoints.latest(folder));
          expect(error).toBeInstanceOf(BadInput);
          expect(error.message).toContain(file);
        }
      }),
    ),
  );

  it.live("are refused where another schema version wrote them", () =>
    Effect.scoped(
      Effect.gen(function* () {
        const folder = yield* temporaryFolder;
        const path = yield* Checkpoints.save(folder, stateAt(1), 1, writing("good"));
        const file = join(path, "run.json");
        for (const [text, schema] of [
          ['{"schema":3}', 3],
          ['{"step":1}', 1],
        ] as const) {
          yield* Effect.promise(() => writeFile(file, text));
          const error = yield* Effect.flip(Checkpoints.latest(folder));
          expect(error.message).toContain(`${file} has schema ${schema}, this version of Millrace reads 2`);
        }
      }),
    ),
  );

  it.live("are bad input where they cannot be written", () =>
    Effect.scoped(
      Effect.gen(function* () {
        const file = join(yield* temporaryFolder, "file");
        yield* Effect.promise(() => writeFile(file, ""));
        const error = yield* Effect.flip(Checkpoints.save(join(file, "checkpoints"), stateAt(1), 1, writing("x")));
        expect([error._tag, error.message]).toEqual(["BadInput", expect.stringContaining(file)]);
      }),
    ),
  );
});

describe("a run's folder", () => {
  it.live("is new for every run, those of one second too, and holds the resolved configuration", () =>
    Effect.scoped(
      Effect.gen(function* () {
        const dir = yield* temporaryFolder;
        const made = yield* Effect.forEach([0, 1, 2], () => RunFolder.create(dir, "name", "run: {}\n"));
        expect(new Set(made.map(({ path }) => path)).size).toBe(3);
        for (const { path } of made) {
          expect(yield* Effect.promise(() => readFile(join(path, "config.yaml"), "utf8"))).toBe("run: {}\n");
          expect((yield* RunFolder.open(path)).path).toBe(path);
        }
      }),
    ),
  );

  it("is stamped in UTC", () => {
    expect(RunFolder.stamp(Date.UTC(2026, 10, 21, 3, 4, 5))).toBe("20261121-030405");
  });

  it.live("is bad input where it cannot be made", () =>
    Effect.scoped(
      Effect.gen(function* () {
        const file = join(yield* temporaryFolder, "file");
        yield* Effect.promise(() => writeFile(file, ""));
        const error = yield* Effect.flip(RunFolder.create(file, "name", ""));
        expect([error._tag, error.message]).toEqual(["BadInput", expect.stringContaining(join(file, "name"))]);
      }),
    ),
  );

  it.live("is bad input where there is none to go on in", () =>
    Effect.scoped(
      Effect.gen(function* () {
        const dir = yield* temporaryFolder;
        const error = yield* Effect.flip(RunFolder.open(dir));
        expect([error._tag, error.message]).toEqual([
          "BadInput",
          expect.stringContaining(`cannot resume from ${join(dir, "config.yaml")}`),
        ]);
      }),
    ),
  );
});
