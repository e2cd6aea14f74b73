import { mkdirSync, readFileSync, rmSync, truncateSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, it } from "@effect/vitest";
import { Effect } from "effect";
import { expect } from "vitest";
import * as Manifest from "../../../src/support/files/Manifest.ts";
import { temporaryFolder } from "../../temporaryFolder.ts";

const sealed = Effect.gen(function* () {
  const folder = yield* temporaryFolder;
  writeFileSync(join(folder, "weights"), "w".repeat(3 * 2 ** 20 + 7));
  writeFileSync(join(folder, "state.json"), "{}");
  writeFileSync(join(folder, "empty"), "");
  mkdirSync(join(folder, "inner"));
  writeFileSync(join(folder, "inner", "file"), "x");
  yield* Manifest.seal(folder);
  return folder;
});
const fault = (folder: string) => Effect.map(Effect.flip(Manifest.verify(folder)), ({ message }) => message);
const manifestIn = (folder: string) => join(folder, Manifest.MANIFEST);

describe("a folder's manifest", () => {
  it.effect("lists every file with its size and checksum, and proves the folder", () =>
    Effect.gen(function* () {
      const folder = yield* sealed;
      yield* Manifest.verify(folder);
      const { files, schema } = JSON.parse(readFileSync(manifestIn(folder), "utf8"));
      expect([schema, Object.keys(files)]).toEqual([1, ["empty", "inner/file", "state.json", "weights"]]);
      expect(files.empty).toEqual({
        bytes: 0,
        sha256: "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855",
      });
      expect(files.weights.bytes).toBe(3 * 2 ** 20 + 7);
    }),
  );

  const damages: readonly (readonly [string, string, (folder: string) => void])[] = [
    ["missing", "weights: no such file", (folder) => rmSync(join(folder, "weights"))],
    ["short", "weights: it has 9 bytes, 3145735 were written", (folder) => truncateSync(join(folder, "weights"), 9)],
    [
      "changed in one byte",
      "weights: its contents do not have the checksum",
      (folder) => writeFileSync(join(folder, "weights"), `${"w".repeat(3 * 2 ** 20 + 6)}v`),
    ],
    [
      "a folder",
      "state.json: it has",
      (folder) => {
        rmSync(join(folder, "state.json"));
        mkdirSync(join(folder, "state.json"));
      },
    ],
  ];
  it.effect.each(damages)("names the file that is %s", ([, message, damage]) =>
    Effect.gen(function* () {
      const folder = yield* sealed;
      damage(folder);
      expect(yield* fault(folder)).toContain(`${folder}/${message}`);
    }),
  );

  it.effect.each(["", "{", "[]", '{"schema":2,"files":{}}', '{"schema":1,"files":{"a":{"bytes":-1,"sha256":""}}}'])(
    "is no proof where it is not one: %j",
    (text) =>
      Effect.gen(function* () {
        const folder = yield* sealed;
        writeFileSync(manifestIn(folder), text);
        expect(yield* fault(folder)).toBe(`${manifestIn(folder)}: not a list of files with their checksums`);
      }),
  );

  it.effect("is refused by its size alone", () =>
    Effect.gen(function* () {
      const folder = yield* sealed;
      truncateSync(manifestIn(folder), 2 ** 40);
      expect(yield* fault(folder)).toBe(`${manifestIn(folder)}: it has ${2 ** 40} bytes, at most ${2 ** 20} are read`);
    }),
  );

  it.effect("is missing from a folder without one", () =>
    Effect.gen(function* () {
      const folder = yield* sealed;
      rmSync(manifestIn(folder));
      expect(yield* fault(folder)).toContain(`${manifestIn(folder)}: no such file`);
    }),
  );

  it.effect("takes files in that were added, without reading the others again", () =>
    Effect.gen(function* () {
      const folder = yield* sealed;
      writeFileSync(join(folder, "weights"), "v".repeat(3 * 2 ** 20 + 7));
      writeFileSync(join(folder, "run.json"), "{}");
      yield* Manifest.seal(folder);
      expect(yield* fault(folder)).toContain("weights: its contents");
      writeFileSync(join(folder, "weights"), "w".repeat(3 * 2 ** 20 + 7));
      yield* Manifest.verify(folder);
      expect(Object.keys(JSON.parse(readFileSync(manifestIn(folder), "utf8")).files)).toContain("run.json");
    }),
  );
});
