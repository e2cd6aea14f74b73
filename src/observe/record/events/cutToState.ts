/**
 * Cuts events.jsonl back to the state that a run resumes from. Groups of later windows run ahead of the checkpoint, so cutting by
 * step alone is not enough. Invariant: afterwards no line names a group or a window whose number the resumed run gives again. The file
 * is replaced as a whole, so a kill leaves the old one or the new one.
 */
import { type FileHandle, open } from "node:fs/promises";
import { Effect } from "effect";
import type { RunState } from "../../../domain/RunState.ts";
import { consumedGroups } from "../../../domain/SeedSchedule.ts";
import { replaceFile, replaceText } from "../../../support/files/AtomicWrite.ts";
import { fileError } from "../../../support/files/FileError.ts";
import { readLines } from "../../../support/files/readLines.ts";
import { readRange, withFile } from "../../../support/files/regularFile.ts";
import { decode, type EventLine } from "./EventLine.ts";
import { type KeyframeIndexLine, keyframesIn } from "./EventLog.ts";

const COPY_BYTES = 2 ** 20;

/** True for a line about the past of `state`; the resumed run writes all other lines anew. */
const belongsTo = (state: RunState): ((line: EventLine) => boolean) => {
  const isClosed = consumedGroups(state.seeds);
  const isPast = (line: EventLine): boolean => {
    if (line.step > state.step) return false;
    switch (line._tag) {
      case "Admitted":
      case "Finished":
      case "ValidationRepeated":
        return isClosed(line.group);
      case "Dropped":
        return line.groups.every(({ group }) => isClosed(group));
      case "Keyframe":
        return line.frame.groups.every(({ group }) => isClosed(group));
      default:
        return "window" in line ? line.window < state.step : true;
    }
  };
  return (line) => {
    try {
      return isPast(line);
    } catch {
      // The line only looks like an event; like any line that is none, it stays.
      return true;
    }
  };
};

/** Offsets in a file; `end` is just behind the last byte. */
interface Span {
  readonly start: number;
  readonly end: number;
}

/** The line that begins at `offset`; null if it cannot be read. */
const lineAt = async (file: FileHandle, offset: number, size: number): Promise<EventLine | null> => {
  let line: EventLine | null = null;
  await readLines(file, offset, size, (bytes) => {
    line = decode(bytes.toString("utf8"));
    return false;
  });
  return line;
};

/**
 * Offset up to which every line stays: that of the newest keyframe whose groups are all kept. A keyframe lists every group in flight, so no
 * line before it is about a group that is cut. 0 without such a keyframe.
 */
const unchangedOffset = async (
  file: FileHandle,
  size: number,
  keyframes: readonly KeyframeIndexLine[],
  isKept: (line: EventLine) => boolean,
): Promise<number> => {
  for (const { offset } of keyframes.toReversed()) {
    const line = await lineAt(file, offset, size);
    if (line?._tag === "Keyframe" && isKept(line)) return offset;
  }
  return 0;
};

/**
 * The parts of the file that stay. Keyframes after the first cut line are cut too, because their offsets in the index no longer hold. A
 * reader starts at an earlier one, and the resumed run begins with a keyframe of its own.
 */
const spansToKeep = async (
  file: FileHandle,
  size: number,
  from: number,
  isKept: (line: EventLine) => boolean,
): Promise<readonly Span[]> => {
  const spans: Span[] = [];
  let start = 0;
  let isCut = false;
  await readLines(file, from, size, (bytes, offset) => {
    const line = decode(bytes.toString("utf8"));
    if (line === null || (isKept(line) && !(isCut && line._tag === "Keyframe"))) return true;
    isCut = true;
    if (offset > start) spans.push({ start, end: offset });
    start = offset + bytes.length + 1;
    return true;
  });
  return start < size ? [...spans, { start, end: size }] : spans;
};

const copySpans = async (from: FileHandle, to: FileHandle, spans: readonly Span[]): Promise<void> => {
  for (const { end, start } of spans) {
    for (let at = start; at < end; at += COPY_BYTES) {
      await to.writeFile(await readRange(from, at, Math.min(COPY_BYTES, end - at)));
    }
  }
};

/** The keyframes that the index lists, oldest first; none without an index. */
const readKeyframeIndex = async (path: string): Promise<readonly KeyframeIndexLine[]> =>
  keyframesIn((await withFile(path, (file) => file.readFile("utf8"))) ?? "");

/**
 * Drops the lines that the run repeats after `state`. If there are none, or no file, nothing changes. The index is shortened
 * first, so that it never names a keyframe that the file lacks.
 */
export const cutToState = Effect.fnUntraced(function* (path: string, indexPath: string, state: RunState) {
  const isKept = belongsTo(state);
  const keyframes = yield* Effect.promise(() => readKeyframeIndex(indexPath));
  const findSpans = () =>
    withFile(path, async (file) => {
      const { size } = await file.stat();
      const from = await unchangedOffset(file, size, keyframes, isKept);
      return { size, spans: await spansToKeep(file, size, from, isKept) };
    });
  const reading = yield* Effect.tryPromise({ try: findSpans, catch: (cause) => fileError(path, cause) });
  if (reading === null) return;
  const { size, spans } = reading;
  const unchanged = spans[0]?.start === 0 ? spans[0].end : 0;
  if (unchanged === size) return;
  const kept = keyframes.filter(({ offset }) => offset < unchanged);
  yield* replaceText(indexPath, kept.map((keyframe) => `${JSON.stringify(keyframe)}\n`).join(""));
  yield* replaceFile(path, async (to) => {
    const from = await open(path, "r");
    try {
      await copySpans(from, to, spans);
    } finally {
      await from.close();
    }
  });
});
