import { readdirSync } from "node:fs";
import { cp, mkdir, readdir, readFile, rm, truncate, writeFile } from "node:fs/promises";
import { basename, join } from "node:path";
import { describe, it } from "@effect/vitest";
import { Deferred, Effect, Fiber } from "effect";
import { TestClock } from "effect/testing";
import { expect } from "vitest";
import { BadInput } from "../../../src/domain/Errors.ts";
import * as Position from "../../../src/domain/Position.ts";
import * as RunState from "../../../src/domain/RunState.ts";
import * as Checkpoints from "../../../src/observe/record/Checkpoints.ts";
import * as RunFolder from "../../../src/observe/record/RunFolder.ts";
import { runsIn } from "../../../src/observe/record/RunFolders.ts";
import { FileError } from "../../../src/support/files/FileError.ts";
import * as Manifest from "../../../src/support/files/Manifest.ts";
import * as StepFolders from "../../../src/support/files/StepFolders.ts";
import { temporaryFolder } from "../../temporaryFolder.ts";
import { collected } from "../../warnings.ts";

const countsOf = (step: number) => ({
  admitted: 4 * step,
  trained: 2 * step,
  filtered: step,
  failed: 0,
  dropped: step,
});
const stateAt = (step: number): RunState.RunState => ({
  ...RunState.initial,
  step,
  position: Position.start({ consumed: step, groups: 4, version: step }),
  seeds: { ...RunState.initial.seeds, next: 4, returned: [3] },
  emptyInARow: 1,
  ledger: { ...RunState.initial.ledger, groups: countsOf(step), tokens: countsOf(step) },
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

  it.live("tell a full disk from other failures, and leave nothing of it", () =>
    Effect.scoped(
      Effect.gen(function* () {
        const folder = yield* temporaryFolder;
        yield* Checkpoints.save(folder, stateAt(1), 1, writing("good"));
        const cause = Object.assign(new Error("EDQUOT: write"), { code: "EDQUOT" });
        const full = (into: string) =>
          Effect.andThen(
            writing("half")(into),
            Effect.fail(new FileError({ path: into, reason: "refused", message: "no room", cause })),
          );
        const error = yield* Effect.flip(Checkpoints.save(folder, stateAt(2), 1, full));
        expect(error).toMatchObject({ _tag: "CheckpointSpaceError", message: "no room" });
        expect(yield* names(folder)).toEqual(["step-1"]);
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

  const damages: readonly (readonly [string, string, (path: string) => Promise<void>])[] = [
    ["a file is missing", "weights", (path) => rm(join(path, "weights"))],
    ["a file has other contents", "weights", (path) => writeFile(join(path, "weights"), "gold")],
    ["the state is cut", "run.json", (path) => truncate(join(path, "run.json"), 40)],
    ["the state is beyond its size", "run.json", (path) => truncate(join(path, "run.json"), 2 ** 40)],
    [
      "the state is a folder",
      "run.json",
      (path) => rm(join(path, "run.json")).then(() => mkdir(join(path, "run.json"))),
    ],
    [
      "the state is of another step",
      "run.json",
      (path) => cp(join(path, "..", "step-1", "run.json"), join(path, "run.json")),
    ],
    ["there is no manifest", "manifest.json", (path) => rm(join(path, "manifest.json"))],
    ["the manifest is noise", "manifest.json", (path) => writeFile(join(path, "manifest.json"), Buffer.from([0, 255]))],
  ];
  it.live.each(damages)("fall back to the one before, naming both, where %s", ([, file, damage]) =>
    Effect.scoped(
      Effect.gen(function* () {
        const folder = yield* temporaryFolder;
        for (const step of [1, 2]) yield* Checkpoints.save(folder, stateAt(step), 2, writing("good"));
        const path = StepFolders.path(folder, 2);
        yield* Effect.promise(() => damage(path));
        const { layer, lines } = collected();
        const found = yield* Effect.provide(Checkpoints.latest(folder), layer);
        expect(found.state.step).toBe(1);
        expect(lines).toHaveLength(1);
        expect(lines[0]).toContain(join(path, file));
        expect(lines[0]).toContain(`going on from ${StepFolders.path(folder, 1)} instead`);
        expect(lines[0]).not.toContain("\n");
      }),
    ),
  );

  it.live("of impossible states are refused in one line that names the file, sealed or not", () =>
    Effect.scoped(
      Effect.gen(function* () {
        const folder = yield* temporaryFolder;
        const path = yield* Checkpoints.save(folder, stateAt(3), 2, writing("good"));
        const file = join(path, "run.json");
        const json = JSON.parse(yield* Effect.promise(() => readFile(file, "utf8")));
        const changes: readonly (readonly [object, string])[] = [
          [{ step: -3 }, "step"],
          [{ step: 4 }, "it is of step 4"],
          [{ schema: "x" }, 'has schema "x"'],
          [{ schema: "x".repeat(1e6) }, 'has schema "xxx'],
          [{ ledger: { ...json.ledger, groups: { ...json.ledger.groups, dropped: 9 } } }, "do not balance"],
          [{ outstanding: [[7, 3]] }, "in flight"],
          [{ position: { ...json.position, consumed: 900 } }, "900 windows in 3 steps"],
        ];
        for (const [change, message] of changes) {
          yield* Effect.promise(() => writeFile(file, JSON.stringify({ ...json, ...change })));
          yield* Effect.promise(() => rm(join(path, "manifest.json")));
          yield* Manifest.seal(path);
          const error = yield* Effect.flip(Checkpoints.latest(folder));
          expect(error.message).toContain(file);
          expect(error.message).toContain(message);
          expect(error.message).not.toContain("\n");
          expect(error.message.length).toBeLessThan(400);
        }
      }),
    ),
  );

  it.live("are written anew over a step that was set aside as damaged, which is not counted", () =>
    Effect.scoped(
      Effect.gen(function* () {
        const folder = yield* temporaryFolder;
        for (const step of [1, 2]) yield* Checkpoints.save(folder, stateAt(step), 2, writing("good"));
        yield* Effect.promise(() => rm(join(StepFolders.path(folder, 2), "weights")));
        const { layer } = collected();
        const found = yield* Effect.provide(
          Checkpoints.loadNewest(folder, ({ state }) => Effect.succeed(state)),
          layer,
        );
        expect(found.loaded.checkpoint).toEqual({ step: 1, folder: StepFolders.path(folder, 1) });
        yield* found.cleanUp;
        expect(yield* names(folder)).toEqual(["step-1", "step-2.damaged"]);
        yield* Checkpoints.save(folder, stateAt(2), 2, writing("again"));
        expect(yield* names(folder)).toEqual(["step-1", "step-2", "step-2.damaged"]);
        expect((yield* Checkpoints.latest(folder)).state.step).toBe(2);
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
          ['{"schema":5}', 5],
          ['{"step":1}', 1],
        ] as const) {
          yield* Effect.promise(() => writeFile(file, text));
          const error = yield* Effect.flip(Checkpoints.latest(folder));
          expect(error.message).toContain(`${file} has schema ${schema}, this version of Millrace reads 4`);
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
        const created = yield* Effect.forEach([0, 1, 2], () => RunFolder.create(dir, "name", "run: {}\n"));
        expect(new Set(created.map(({ path }) => path)).size).toBe(3);
        for (const { path } of created) {
          expect(yield* Effect.promise(() => readFile(join(path, "config.yaml"), "utf8"))).toBe("run: {}\n");
          expect((yield* RunFolder.open(path)).path).toBe(path);
        }
      }),
    ),
  );

  it.live("that no run began in goes, with the folders that were made for it and are empty", () =>
    Effect.scoped(
      Effect.gen(function* () {
        const dir = yield* temporaryFolder;
        const run = { dir: join(dir, "runs"), name: "name", resolvedConfig: "" };
        const inTurn = Effect.gen(function* () {
          const first = yield* RunFolder.createScoped(run, () => false);
          yield* Effect.scoped(RunFolder.createScoped(run, () => false));
          expect(runsIn(join(run.dir, run.name))).toEqual([first.path]);
        });
        yield* Effect.scoped(inTurn);
        expect(readdirSync(dir)).toEqual([]);
      }),
    ),
  );

  it.live("stays where its run has begun, also if it fails then", () =>
    Effect.scoped(
      Effect.gen(function* () {
        const dir = yield* temporaryFolder;
        const run = { dir, name: "name", resolvedConfig: "" };
        const begun = RunFolder.createScoped(run, () => true);
        yield* Effect.flip(Effect.scoped(Effect.andThen(begun, Effect.fail("ended"))));
        expect(runsIn(join(dir, "name"))).toEqual([expect.any(String)]);
      }),
    ),
  );

  it.live("goes whenever its run is stopped before it begins", () =>
    Effect.scoped(
      Effect.gen(function* () {
        const dir = yield* temporaryFolder;
        for (let turns = 0; turns < 40; turns++) {
          const run = { dir: join(dir, "runs"), name: "name", resolvedConfig: "run: {}\n" };
          const loading = Effect.andThen(
            RunFolder.createScoped(run, () => false),
            Effect.never,
          );
          const fiber = yield* Effect.forkChild(Effect.scoped(loading), { startImmediately: true });
          for (let turn = 0; turn < turns; turn++) {
            yield* Effect.promise(() => new Promise((resolve) => setImmediate(resolve)));
          }
          yield* Fiber.interrupt(fiber);
          expect(readdirSync(dir)).toEqual([]);
        }
      }),
    ),
  );

  it("is stamped in UTC", () => {
    expect(RunFolder.timeStamp(Date.UTC(2026, 10, 21, 3, 4, 5))).toBe("20261121-030405");
  });

  it.effect("is the last by its name, also after the clock was set back and after one of its second was removed", () =>
    Effect.scoped(
      Effect.gen(function* () {
        const dir = yield* temporaryFolder;
        const at = Effect.fnUntraced(function* (hour: number) {
          yield* TestClock.setTime(Date.UTC(2026, 9, 25, hour));
          return (yield* RunFolder.create(dir, "name", "")).path;
        });
        yield* Effect.promise(() => mkdir(join(dir, "name", "99-notes"), { recursive: true }));
        const created: string[] = [];
        for (const hour of [3, 2, 2, 3]) {
          created.push(yield* at(hour));
          expect(runsIn(join(dir, "name"))).toEqual(created);
        }
        expect(created.map((path) => basename(path))).toEqual(["", "-2", "-3", "-4"].map((n) => `20261025-030000${n}`));
        yield* Effect.promise(() => rm(created[0]!, { recursive: true }));
        expect(basename(yield* at(2))).toBe("20261025-030000-5");
        expect(basename(yield* at(4))).toBe("20261025-040000");
      }),
    ),
  );

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
