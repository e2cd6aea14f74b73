/**
 * The log of replies between two checkpoints, in `replies/` of the run's folder. A run that goes on plays its groups again and gets the
 * logged replies at once. Invariants: only replies are logged, because all else follows from them; the log never ends or delays a run.
 */
import { Clock, Context, Effect, Fiber, type Scope } from "effect";
import type { RunConfig } from "../../../config/RunConfig.ts";
import type { LoggedReplies } from "../../../domain/LoggedReplies.ts";
import { Bus } from "../../../flow/Bus.ts";
import * as Checkpoints from "../Checkpoints.ts";
import { RunFolder } from "../RunFolder.ts";
import { decidingKeys } from "./decidingKeys.ts";
import { ReplyFiles, removeFiles } from "./ReplyFiles.ts";
import { encode } from "./ReplyRecord.ts";
import { ReplyWriter } from "./ReplyWriter.ts";
import { Reuse } from "./Reuse.ts";
import { WindowReplies } from "./WindowReplies.ts";

export interface ReplyLog {
  /** The replies of a window. */
  readonly window: (window: number) => Effect.Effect<LoggedReplies>;
}

/** The log of the run; null, the default, for none. */
export const CurrentReplyLog = Context.Reference<ReplyLog | null>("millrace/observe/ReplyLog", {
  defaultValue: () => null,
});

/** Milliseconds that the last records of a run may take. */
const DEADLINE_MS = 5_000;

/** The windows of a run that are open, with what the log holds of them. */
class OpenWindows {
  readonly #files: ReplyFiles;
  readonly #writer: ReplyWriter;
  readonly #reuse: Reuse;
  /** Windows that the log held when the run began. */
  readonly #logged: ReadonlySet<number>;
  readonly #windows = new Map<number, Promise<WindowReplies>>();

  constructor(files: ReplyFiles, writer: ReplyWriter, reuse: Reuse, logged: readonly number[]) {
    this.#files = files;
    this.#writer = writer;
    this.#reuse = reuse;
    this.#logged = new Set(logged);
  }

  /** The replies of a window, which is read at its first group. */
  async open(window: number): Promise<LoggedReplies> {
    const loading = this.#windows.get(window) ?? this.#load(window);
    this.#windows.set(window, loading);
    const replies = await loading;
    return {
      find: (key, checksum) => {
        const found = replies.find(key, checksum);
        if (found !== undefined) this.#reuse.recordGiven();
        return found;
      },
      add: (key, checksum, sampled) => {
        replies.countAdded();
        this.#writer.add(window, encode({ key, request: checksum, sampled }));
      },
    };
  }

  /** Forgets the replies of a window whose step is closed. */
  close(window: number): void {
    void this.#windows.get(window)?.then((replies) => replies.clear());
    this.#windows.delete(window);
  }

  async #load(window: number): Promise<WindowReplies> {
    // A window that cannot be read is generated again.
    const records = this.#logged.has(window) ? await this.#files.read(window).catch(() => []) : [];
    const replies = new WindowReplies(records);
    this.#reuse.add(replies);
    return replies;
  }
}

/** Opens the files for the run as it stands. */
const openFiles = Effect.fnUntraced(function* (config: RunConfig, folder: string, from: number) {
  const { files, setAside } = yield* Effect.tryPromise({
    try: () => ReplyFiles.open(folder, decidingKeys(config), from),
    catch: (cause) => (cause instanceof Error ? cause.message : String(cause)),
  });
  if (setAside !== null) {
    const { reason, windows } = setAside;
    yield* Effect.logWarning(
      `the replies of ${windows === 1 ? "1 window are" : `${windows} windows are`} generated again: ${reason}`,
    );
  }
  const logged = yield* Effect.promise(() => files.windows());
  return { files, logged: logged.filter((window) => window >= from) };
});

/** Starts writing; ends with the scope, behind the last records. */
const startWriter = Effect.fnUntraced(function* (config: RunConfig, files: ReplyFiles) {
  const bus = yield* Bus;
  const { checkpoints, replies: folder } = yield* RunFolder;
  // A run that falls back to the checkpoint before the newest finds its replies, too.
  const oldest = config.trainer.max_checkpoints > 1 ? -2 : -1;
  const keptFrom = Effect.map(Checkpoints.list(checkpoints), (steps) => steps.at(oldest) ?? steps.at(-1) ?? 0);
  const writer = new ReplyWriter(
    files,
    folder,
    Effect.orElseSucceed(keptFrom, () => 0),
  );
  const end = (reason: string) => bus.emit({ _tag: "ReplyLogEnded", step: bus.state().step, reason });
  // The fiber outlives the scope, so that a write under way ends and the last records follow it.
  const writing = yield* Effect.forkDetach(Effect.catch(writer.run, end));
  yield* Effect.addFinalizer(() => {
    writer.close();
    return Effect.timeoutOrElse(Fiber.join(writing), { duration: DEADLINE_MS, orElse: () => Effect.void });
  });
  return writer;
});

const open = Effect.fnUntraced(function* (config: RunConfig) {
  const bus = yield* Bus;
  const { replies: folder } = yield* RunFolder;
  const clock = yield* Clock.Clock;
  const { files, logged } = yield* openFiles(config, folder, bus.state().step);
  const writer = yield* startWriter(config, files);
  const reuse = new Reuse(logged, () => Number(clock.monotonicTimeNanosUnsafe()) / 1e6);
  const windows = new OpenWindows(files, writer, reuse, logged);
  const runFork = Effect.runForkWith(yield* Effect.context());
  bus.onEvent((event) => {
    // A replay needs the replies of all windows.
    if (event._tag === "CheckpointWritten" && !config.trainer.replay) writer.removeOld();
    if (event._tag !== "StepClosed") return;
    windows.close(event.step - 1);
    const report = reuse.report(event.step);
    if (report !== null) runFork(bus.emit(report));
  });
  const log: ReplyLog = { window: (window) => Effect.promise(() => windows.open(window)) };
  return log;
});

/**
 * Opens the log until the scope closes. If it cannot be opened, one warning says so and the run goes on without it. A run without a log
 * removes the one of an earlier start, whose replies do not belong to it.
 */
export const attach = (config: RunConfig): Effect.Effect<ReplyLog | null, never, Bus | RunFolder | Scope.Scope> =>
  config.trainer.log_replies
    ? Effect.catch(open(config), (reason) => Effect.as(Effect.logWarning(`replies are not logged: ${reason}`), null))
    : Effect.flatMap(RunFolder, ({ replies }) =>
        Effect.as(Effect.ignore(Effect.tryPromise(() => removeFiles(replies))), null),
      );
