/**
 * Writes logged replies while a run goes on. Records wait in memory for at most `BATCH_MS`, and one write takes all that wait, older windows
 * first. Nobody waits for the disk. Invariant: a disk that fails, or falls behind by `MOST_WAITING` bytes, ends the log, never the run.
 */
import { Effect, Latch } from "effect";
import { fileError } from "../../../support/files/FileError.ts";
import type { ReplyFiles } from "./ReplyFiles.ts";

/** Milliseconds that records wait for others: each write costs the main thread time. A kill loses so much of the log. */
const BATCH_MS = 100;
const MOST_WAITING = 64 * 2 ** 20;

export class ReplyWriter {
  readonly #files: ReplyFiles;
  readonly #folder: string;
  readonly #keptFrom: Effect.Effect<number>;
  readonly #hasWork = Latch.makeUnsafe(false);
  readonly #isClosing = Latch.makeUnsafe(false);
  #waiting = new Map<number, Uint8Array[]>();
  #waitingBytes = 0;
  #isRemovalDue = false;
  #isClosed = false;
  #isOff = false;

  /** `keptFrom` gives the oldest window from which a run may go on. */
  constructor(files: ReplyFiles, folder: string, keptFrom: Effect.Effect<number>) {
    this.#files = files;
    this.#keptFrom = keptFrom;
    this.#folder = folder;
  }

  /** Adds a record of a window and returns at once. */
  add(window: number, record: Uint8Array): void {
    if (this.#isOff) return;
    const records = this.#waiting.get(window);
    if (records === undefined) this.#waiting.set(window, [record]);
    else records.push(record);
    this.#waitingBytes += record.length;
    this.#hasWork.openUnsafe();
  }

  /** Has the files removed of windows that no run goes on from any more. */
  removeOld(): void {
    this.#isRemovalDue = true;
    this.#hasWork.openUnsafe();
  }

  /** Lets `run` end once all is written. */
  close(): void {
    this.#isClosed = true;
    this.#isClosing.openUnsafe();
    this.#hasWork.openUnsafe();
  }

  /** Writes again and again until the log is closed, or fails with the reason why it ends before. */
  readonly run: Effect.Effect<void, string> = Effect.gen({ self: this }, function* () {
    for (;;) {
      yield* this.#hasWork.await;
      yield* Effect.raceFirst(this.#isClosing.await, Effect.sleep(BATCH_MS));
      this.#hasWork.closeUnsafe();
      yield* this.#flush();
      if (this.#isClosed && this.#waiting.size === 0 && !this.#isRemovalDue) return;
    }
  }).pipe(Effect.onError(() => Effect.sync(() => this.#end())));

  #end(): void {
    this.#isOff = true;
    this.#waiting.clear();
  }

  #flush(): Effect.Effect<void, string> {
    return Effect.gen({ self: this }, function* () {
      if (this.#waitingBytes > MOST_WAITING) return yield* Effect.fail("the disk is slower than the run");
      const before = this.#isRemovalDue ? yield* this.#keptFrom : 0;
      this.#isRemovalDue = false;
      const waiting = [...this.#waiting].sort(([a], [b]) => a - b);
      this.#waiting = new Map();
      this.#waitingBytes = 0;
      yield* Effect.tryPromise({
        try: async () => {
          for (const [window, records] of waiting) await this.#files.append(window, records);
          if (before > 0) await this.#files.removeBefore(before);
        },
        catch: (cause) => fileError(this.#folder, cause).message,
      });
    });
  }
}
