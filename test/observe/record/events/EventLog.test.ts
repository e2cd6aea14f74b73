import { mkdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, it } from "@effect/vitest";
import { Effect } from "effect";
import { expect } from "vitest";
import { decode, type EventLine } from "../../../../src/observe/record/events/EventLine.ts";
import * as EventLog from "../../../../src/observe/record/events/EventLog.ts";
import * as Replay from "../../../../src/observe/record/events/Replay.ts";
import { temporaryFolder } from "../../../temporaryFolder.ts";
import { collected } from "../../../warnings.ts";

const linesOf = (path: string): readonly EventLine[] =>
  readFileSync(path, "utf8")
    .trimEnd()
    .split("\n")
    .map((text) => decode(text) ?? expect.fail(`no line: ${text}`));

const pathsIn = (dir: string) => ({ path: join(dir, "events.jsonl"), indexPath: join(dir, "events.index.jsonl") });

/** A log that is closed again once `use` has written to it. */
const logged = (dir: string, use: (log: EventLog.EventLog) => Effect.Effect<void>) =>
  Effect.scoped(Effect.flatMap(EventLog.make({ ...pathsIn(dir), from: Replay.initial }), use));

const admit = (log: EventLog.EventLog, from: number, to: number) =>
  Effect.sync(() => {
    for (let group = from; group < to; group++) log.add({ _tag: "Admitted", group, window: 0 }, 1, group);
  });

describe("the log of events", () => {
  it.live("has every line in order when it is closed, also those added last", () =>
    Effect.scoped(
      Effect.gen(function* () {
        const dir = yield* temporaryFolder;
        yield* logged(dir, (log) => admit(log, 0, 3_000));
        const groups = linesOf(pathsIn(dir).path).flatMap((line) => (line._tag === "Admitted" ? [line.group] : []));
        expect(groups).toEqual(Array.from({ length: 3_000 }, (_, i) => i));
      }),
    ),
  );

  it.live("has what was added before `settled` on disk after it", () =>
    Effect.scoped(
      Effect.gen(function* () {
        const dir = yield* temporaryFolder;
        yield* logged(dir, (log) =>
          Effect.gen(function* () {
            yield* admit(log, 0, 100);
            yield* log.flushed;
            expect(linesOf(pathsIn(dir).path).filter(({ _tag }) => _tag === "Admitted")).toHaveLength(100);
          }),
        );
      }),
    ),
  );

  it.live("begins with a keyframe, has another after so many bytes, and an index that finds them", () =>
    Effect.scoped(
      Effect.gen(function* () {
        const dir = yield* temporaryFolder;
        const { indexPath, path } = pathsIn(dir);
        yield* logged(dir, (log) => admit(log, 0, 20_000));
        const bytes = readFileSync(path);
        const index = readFileSync(indexPath, "utf8").trimEnd().split("\n");
        const places = index.map((text): EventLog.KeyframeIndexLine => JSON.parse(text));
        const found = places.map(({ offset }) => decode(bytes.toString("utf8", offset, bytes.indexOf("\n", offset))));
        expect(found.map((line) => line?._tag)).toEqual(places.map(() => "Keyframe"));
        expect(places.length).toBe(linesOf(path).filter(({ _tag }) => _tag === "Keyframe").length);
        expect(places.length).toBeGreaterThan(1);
        expect(found.map((line) => line?.at)).toEqual(places.map(({ at }) => at));
      }),
    ),
  );

  it.live("goes on behind what is there, with offsets of the whole file", () =>
    Effect.scoped(
      Effect.gen(function* () {
        const dir = yield* temporaryFolder;
        const { indexPath, path } = pathsIn(dir);
        yield* logged(dir, (log) => admit(log, 0, 10));
        yield* logged(dir, (log) => admit(log, 10, 20));
        const places = readFileSync(indexPath, "utf8").trimEnd().split("\n");
        const last: EventLog.KeyframeIndexLine = JSON.parse(places.at(-1)!);
        const bytes = readFileSync(path);
        expect(decode(bytes.toString("utf8", last.offset, bytes.indexOf("\n", last.offset)))?._tag).toBe("Keyframe");
        expect(linesOf(path).filter(({ _tag }) => _tag === "Admitted")).toHaveLength(20);
      }),
    ),
  );

  it.live("says why it cannot be opened", () =>
    Effect.scoped(
      Effect.gen(function* () {
        const dir = yield* temporaryFolder;
        mkdirSync(pathsIn(dir).path);
        const reason = yield* Effect.flip(logged(dir, () => Effect.void));
        expect(reason).toContain("EISDIR");
      }),
    ),
  );

  it.live("is switched off with one warning where the disk is full, and holds nobody", () =>
    Effect.scoped(
      Effect.gen(function* () {
        const { layer, lines } = collected();
        yield* Effect.gen(function* () {
          const log = yield* EventLog.make({ path: "/dev/full", indexPath: "/dev/null", from: Replay.initial });
          yield* admit(log, 0, 10);
          yield* log.flushed;
          yield* admit(log, 10, 20);
          yield* log.flushed;
        }).pipe(Effect.provide(layer));
        expect(lines).toEqual([
          expect.stringMatching(/^events\.jsonl is switched off: cannot write \/dev\/full: .*ENOSPC/),
        ]);
      }),
    ),
  );
});
