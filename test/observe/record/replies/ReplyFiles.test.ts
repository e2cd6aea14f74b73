import { appendFileSync, readdirSync, statSync } from "node:fs";
import { join } from "node:path";
import { describe, it } from "@effect/vitest";
import { Effect } from "effect";
import { expect } from "vitest";
import { ReplyFiles } from "../../../../src/observe/record/replies/ReplyFiles.ts";
import { encode, type ReplyRecord } from "../../../../src/observe/record/replies/ReplyRecord.ts";
import { temporaryFolder } from "../../../temporaryFolder.ts";

const keys = { "actor.lr": "0.1", "run.seed": "3" };

const recordOf = (turn: number): ReplyRecord => ({
  key: { seed: 3, purpose: "sampling", counters: [0, 0, turn] },
  request: 7,
  sampled: {
    ids: Int32Array.of(turn),
    mu: Float32Array.of(-1),
    versions: Int32Array.of(0),
    entropies: Float32Array.of(1),
    finish: "stop",
  },
});

/** Files with a record in each of the windows, as a run leaves them. */
const written = Effect.fnUntraced(function* (windows: readonly number[]) {
  const folder = join(yield* temporaryFolder, "replies");
  const { files } = yield* Effect.promise(() => ReplyFiles.open(folder, keys, 0));
  for (const window of windows) yield* Effect.promise(() => files.append(window, [encode(recordOf(1))]));
  return { folder, files };
});

const openedAgain = (folder: string, from: number, now: Readonly<Record<string, string>> = keys) =>
  Effect.promise(async () => {
    const { files, setAside } = await ReplyFiles.open(folder, now, from);
    return { setAside, windows: await files.windows() };
  });

describe("the files of logged replies", () => {
  it.effect("stay for a run that goes on in the same way", () =>
    Effect.gen(function* () {
      const { folder } = yield* written([2, 3]);
      expect(yield* openedAgain(folder, 2)).toEqual({ setAside: null, windows: [2, 3] });
    }).pipe(Effect.scoped),
  );

  it.effect("are set aside for another value of a key, which is named", () =>
    Effect.gen(function* () {
      const { folder } = yield* written([1, 2, 3]);
      const opened = yield* openedAgain(folder, 2, { ...keys, "actor.lr": "0.2" });
      expect(opened).toEqual({ setAside: { windows: 2, reason: "actor.lr changed" }, windows: [] });
      expect((yield* openedAgain(folder, 2, { ...keys, "actor.lr": "0.2" })).setAside).toBeNull();
    }).pipe(Effect.scoped),
  );

  it.effect("are set aside where the first window's are missing, from which later ones followed", () =>
    Effect.gen(function* () {
      const { folder } = yield* written([4, 5]);
      const reason = "the log lacks those of window 3";
      expect(yield* openedAgain(folder, 3)).toEqual({ setAside: { windows: 2, reason }, windows: [] });
    }).pipe(Effect.scoped),
  );

  it.effect("lose what a kill left unfinished, so that the next record follows the last whole one", () =>
    Effect.gen(function* () {
      const { files, folder } = yield* written([2]);
      const [name = ""] = readdirSync(folder).filter((each) => each.endsWith(".bin"));
      const { size } = statSync(join(folder, name));
      appendFileSync(join(folder, name), encode(recordOf(2)).subarray(0, 20));
      expect(yield* Effect.promise(() => files.read(2))).toEqual([recordOf(1)]);
      expect(statSync(join(folder, name)).size).toBe(size);
      yield* Effect.promise(() => files.append(2, [encode(recordOf(3))]));
      expect(yield* Effect.promise(() => files.read(2))).toEqual([recordOf(1), recordOf(3)]);
    }).pipe(Effect.scoped),
  );

  it.effect("go once a checkpoint holds their windows", () =>
    Effect.gen(function* () {
      const { files } = yield* written([1, 2, 3]);
      yield* Effect.promise(() => files.removeBefore(3));
      expect(yield* Effect.promise(() => files.windows())).toEqual([3]);
    }).pipe(Effect.scoped),
  );
});
