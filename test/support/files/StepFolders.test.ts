import { mkdir, readdir, readlink, symlink } from "node:fs/promises";
import { join } from "node:path";
import { describe, it } from "@effect/vitest";
import { Effect } from "effect";
import { expect } from "vitest";
import * as StepFolders from "../../../src/support/files/StepFolders.ts";
import { temporaryFolder } from "../../temporaryFolder.ts";

const folderOf = Effect.fnUntraced(function* (...names: readonly string[]) {
  const folder = yield* temporaryFolder;
  for (const name of names) yield* Effect.promise(() => mkdir(join(folder, name)));
  return folder;
});
const namesIn = (folder: string) => Effect.promise(async () => (await readdir(folder)).sort());

describe("folders of steps", () => {
  it.effect("are listed by number, whole ones only", () =>
    Effect.gen(function* () {
      const folder = yield* folderOf("step-10", "step-9", "step-11.partial", "step-8.replaced", "step-", "other");
      expect(yield* StepFolders.list(folder)).toEqual([9, 10]);
      expect(StepFolders.path(folder, 9)).toBe(join(folder, "step-9"));
    }),
  );

  it.effect("are removed but for the latest, with what is half-written; all else stays", () =>
    Effect.gen(function* () {
      const folder = yield* folderOf("step-2", "step-9", "step-10", "step-11.partial", "other");
      yield* StepFolders.keepLatest(folder, 2);
      expect(yield* namesIn(folder)).toEqual(["other", "step-10", "step-9"]);
      yield* StepFolders.keepLatest(folder, 5);
      expect(yield* namesIn(folder)).toEqual(["other", "step-10", "step-9"]);
    }),
  );

  it.effect("keep one more beside the latest", () =>
    Effect.gen(function* () {
      const folder = yield* folderOf("step-2", "step-5", "step-9", "step-10");
      yield* StepFolders.keepLatest(folder, 1, 5);
      expect(yield* namesIn(folder)).toEqual(["step-10", "step-5"]);
    }),
  );

  it.effect("have a link that follows one of them, and is no folder of a step", () =>
    Effect.gen(function* () {
      const folder = yield* folderOf("step-2", "step-5");
      const target = () => Effect.promise(() => readlink(join(folder, "best")));
      yield* StepFolders.setLink(folder, "best", 2);
      expect(yield* target()).toBe("step-2");
      yield* StepFolders.setLink(folder, "best", 5);
      expect(yield* target()).toBe("step-5");
      yield* Effect.promise(() => symlink("step-2", join(folder, "best.partial")));
      yield* StepFolders.keepLatest(folder, 2);
      expect(yield* namesIn(folder)).toEqual(["best", "step-2", "step-5"]);
      expect(yield* StepFolders.list(folder)).toEqual([2, 5]);
      yield* StepFolders.setLink(folder, "best", 7);
      expect(yield* namesIn(folder)).toEqual(["step-2", "step-5"]);
    }),
  );

  it.effect("are a missing file where there is no folder", () =>
    Effect.gen(function* () {
      const error = yield* Effect.flip(StepFolders.list(join(yield* temporaryFolder, "none")));
      expect(error.reason).toBe("missing");
    }),
  );
});
