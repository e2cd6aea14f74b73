import { mkdirSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import { describe, it } from "@effect/vitest";
import { Effect, Fiber } from "effect";
import { expect } from "vitest";
import { ReplyFiles } from "../../../../src/observe/record/replies/ReplyFiles.ts";
import { ReplyWriter } from "../../../../src/observe/record/replies/ReplyWriter.ts";
import { temporaryFolder } from "../../../temporaryFolder.ts";

const writerIn = Effect.fnUntraced(function* () {
  const folder = join(yield* temporaryFolder, "replies");
  const { files } = yield* Effect.promise(() => ReplyFiles.open(folder, {}, 0));
  const writer = new ReplyWriter(files, folder, Effect.succeed(1));
  const running = yield* Effect.forkChild(Effect.result(writer.run), { startImmediately: true });
  return { folder, writer, running };
});

describe("the writer of replies", () => {
  it.live("has written all that was added when it ends, each window in its file", () =>
    Effect.gen(function* () {
      const { folder, running, writer } = yield* writerIn();
      writer.add(1, Uint8Array.of(1, 2));
      writer.add(0, Uint8Array.of(3));
      writer.add(1, Uint8Array.of(4));
      writer.close();
      expect(yield* Fiber.join(running)).toMatchObject({ _tag: "Success" });
      expect([...readFileSync(join(folder, "window-000001.bin"))]).toEqual([1, 2, 4]);
      expect([...readFileSync(join(folder, "window-000000.bin"))]).toEqual([3]);
    }).pipe(Effect.scoped),
  );

  it.live("removes the windows that are not kept", () =>
    Effect.gen(function* () {
      const { folder, running, writer } = yield* writerIn();
      for (const window of [0, 1, 2]) writer.add(window, Uint8Array.of(window));
      writer.removeOld();
      writer.close();
      yield* Fiber.join(running);
      expect(readdirSync(folder).sort()).toEqual(["keys.json", "window-000001.bin", "window-000002.bin"]);
    }).pipe(Effect.scoped),
  );

  it.live("ends with the reason when the disk fails, and takes no more", () =>
    Effect.gen(function* () {
      const { folder, running, writer } = yield* writerIn();
      rmSync(folder, { recursive: true });
      writer.add(0, Uint8Array.of(1));
      const ended = yield* Fiber.join(running);
      expect(ended).toMatchObject({ _tag: "Failure", failure: expect.stringContaining(folder) });
      mkdirSync(folder);
      writer.add(0, Uint8Array.of(1));
      writer.close();
      yield* writer.run;
      expect(readdirSync(folder)).toEqual([]);
    }).pipe(Effect.scoped),
  );
});
