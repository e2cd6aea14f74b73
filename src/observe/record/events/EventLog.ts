/**
 * Writes events.jsonl and its index while a run goes on. Lines wait in memory, and one write takes all that wait, in their order.
 * Only a caller of `flushed` waits for the disk. Invariants: at most `KEYFRAME_BYTES` of other lines, or eight times the last
 * keyframe, lie before the next keyframe. A keyframe's place is written to the index after it. A disk that fails, or falls behind
 * by `MOST_WAITING` bytes, switches the log off with one warning.
 */
import { type FileHandle, open } from "node:fs/promises";
import { Effect, Fiber, Latch, type Scope } from "effect";
import { type EventLine, encode, type LineContent } from "./EventLine.ts";
import * as Replay from "./Replay.ts";

const KEYFRAME_BYTES = 256 * 1024;
const MOST_WAITING = 64 * 2 ** 20;
/** Milliseconds that lines wait for others: each write costs the main thread time, however short it is. */
const BATCH_MS = 100;

/** A line of the index: the offset at which a keyframe begins. */
export interface KeyframeIndexLine {
  readonly step: number;
  readonly at: number;
  readonly offset: number;
}

const isIndexLine = (value: unknown): value is KeyframeIndexLine =>
  typeof value === "object" &&
  value !== null &&
  "offset" in value &&
  Number.isSafeInteger(value.offset) &&
  Number(value.offset) >= 0 &&
  ["step", "at"].every((key) => typeof Reflect.get(value, key) === "number");

/** The lines of an index, up to the first that cannot be read. */
export const keyframesIn = (index: string): readonly KeyframeIndexLine[] => {
  const keyframes: KeyframeIndexLine[] = [];
  for (const line of index.split("\n")) {
    try {
      const keyframe: unknown = JSON.parse(line);
      if (isIndexLine(keyframe)) keyframes.push(keyframe);
    } catch {
      break;
    }
  }
  return keyframes;
};

export interface EventLog {
  /** Adds a line and returns at once. */
  readonly add: (happening: LineContent, step: number, at: number) => void;
  /** Suspends until all lines so far are written, or the log is off. */
  readonly flushed: Effect.Effect<void>;
}

export interface EventLogOptions {
  readonly path: string;
  readonly indexPath: string;
  /** The state of the run at the start. */
  readonly from: Replay.Replay;
}

interface Files {
  readonly events: FileHandle;
  readonly index: FileHandle;
}

class Writer {
  readonly #path: string;
  #replay: Replay.Replay;
  #lines: string[] = [];
  #places: string[] = [];
  #waitingBytes = 0;
  /** Bytes of the file once all lines are written, and up to the newest keyframe. */
  #size: number;
  #keyframeEnd: number;
  #keyframeBytes = 0;
  #isOff = false;
  #isClosed = false;
  readonly #hasLines = Latch.makeUnsafe(false);
  /** Open while a caller waits for the lines. */
  readonly #flushNow = Latch.makeUnsafe(false);
  readonly #isFlushed = Latch.makeUnsafe(true);

  constructor(path: string, from: Replay.Replay, size: number) {
    this.#path = path;
    this.#replay = from;
    this.#size = size;
    // A keyframe follows the first line, so that every reader finds one.
    this.#keyframeEnd = Number.NEGATIVE_INFINITY;
  }

  readonly flushed: Effect.Effect<void> = Effect.suspend(() => {
    this.#flushNow.openUnsafe();
    return this.#isFlushed.await;
  });

  readonly add = (happening: LineContent, step: number, at: number): void => {
    if (this.#isOff) return;
    const line: EventLine = { step, at, ...happening };
    this.#push(line);
    this.#replay = Replay.observe(this.#replay, line);
    if (this.#size - this.#keyframeEnd > Math.max(KEYFRAME_BYTES, 8 * this.#keyframeBytes)) this.#keyframe(step, at);
    this.#isFlushed.closeUnsafe();
    this.#hasLines.openUnsafe();
  };

  /** Writes the waiting lines again and again. It ends when the log is off, or closed with no line left. */
  readonly write = (files: Files): Effect.Effect<void> =>
    Effect.gen({ self: this }, function* () {
      while (!this.#isOff && !(this.#isClosed && this.#lines.length === 0)) {
        yield* this.#hasLines.await;
        yield* Effect.raceFirst(this.#flushNow.await, Effect.sleep(BATCH_MS));
        yield* this.#flush(files);
      }
    });

  readonly close = (): void => {
    this.#isClosed = true;
    this.#hasLines.openUnsafe();
    this.#flushNow.openUnsafe();
  };

  /** Writes the waiting lines once. */
  #flush({ events, index }: Files): Effect.Effect<void> {
    return Effect.suspend(() => {
      if (!this.#isClosed) this.#hasLines.closeUnsafe();
      const [lines, places, bytes] = [this.#lines, this.#places, this.#waitingBytes];
      [this.#lines, this.#places] = [[], []];
      const written = Effect.tryPromise({
        try: async () => {
          if (lines.length > 0) await events.appendFile(lines.join(""));
          if (places.length > 0) await index.appendFile(places.join(""));
        },
        catch: (cause) => (cause instanceof Error ? cause.message : String(cause)),
      });
      return Effect.matchEffect(written, {
        onFailure: (reason) => this.#fail(reason),
        onSuccess: () =>
          Effect.suspend(() => {
            this.#waitingBytes -= bytes;
            if (this.#lines.length === 0) this.#markFlushed();
            return this.#waitingBytes > MOST_WAITING ? this.#fail("the disk is slower than the run") : Effect.void;
          }),
      });
    });
  }

  #markFlushed(): void {
    if (!this.#isClosed) this.#flushNow.closeUnsafe();
    this.#isFlushed.openUnsafe();
  }

  #fail(reason: string): Effect.Effect<void> {
    this.#isOff = true;
    this.#lines = [];
    return Effect.andThen(
      Effect.logWarning(`events.jsonl is switched off: cannot write ${this.#path}: ${reason}`),
      Effect.sync(() => this.#isFlushed.openUnsafe()),
    );
  }

  #push(line: EventLine): number {
    const text = `${encode(line)}\n`;
    const bytes = Buffer.byteLength(text);
    this.#lines.push(text);
    this.#size += bytes;
    this.#waitingBytes += bytes;
    return bytes;
  }

  #keyframe(step: number, at: number): void {
    const place: KeyframeIndexLine = { step, at, offset: this.#size };
    this.#keyframeBytes = this.#push({ step, at, _tag: "Keyframe", frame: Replay.keyframeOf(this.#replay) });
    this.#keyframeEnd = this.#size;
    this.#places.push(`${JSON.stringify(place)}\n`);
  }
}

/** Milliseconds that the last lines of a run, and `flushed`, may take. */
const DEADLINE_MS = 5_000;

/**
 * Opens the log at the end of its file. Fails with the reason if it cannot be opened. Writes the last lines before the scope
 * closes.
 */
export const make = Effect.fnUntraced(function* ({
  from,
  indexPath,
  path,
}: EventLogOptions): Effect.fn.Return<EventLog, string, Scope.Scope> {
  const openFile = (file: string) =>
    Effect.acquireRelease(
      Effect.tryPromise({
        try: () => open(file, "a"),
        catch: (cause) => (cause instanceof Error ? cause.message : String(cause)),
      }),
      (handle) => Effect.promise(() => handle.close().catch(() => undefined)),
    );
  const files: Files = { events: yield* openFile(path), index: yield* openFile(indexPath) };
  const { size } = yield* Effect.promise(() => files.events.stat());
  const writer = new Writer(path, from, size);
  // The fiber outlives the scope, so that a write under way ends and the last lines follow it.
  const writing = yield* Effect.forkDetach(writer.write(files));
  yield* Effect.addFinalizer(() => {
    writer.close();
    return Effect.timeoutOrElse(Fiber.join(writing), {
      duration: DEADLINE_MS,
      orElse: () => Effect.logWarning(`the last events were not written to ${path} within ${DEADLINE_MS} ms`),
    });
  });
  const flushed = Effect.timeoutOrElse(writer.flushed, { duration: DEADLINE_MS, orElse: () => Effect.void });
  return { add: writer.add, flushed };
});
