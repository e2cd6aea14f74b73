/**
 * The log of replies between two checkpoints, in `replies/` of the run's folder. A run that goes on plays its groups again and gets the
 * logged replies at once. Invariants: only replies are logged, because all else follows from them; the log never ends or delays a run.
 */
import { Clock, Context, Effect, Fiber, type Scope } from "effect";
import type { RunConfig } from "../../../config/RunConfig.ts";
import type { Event } from "../../../domain/Event.ts";
import { Bus } from "../../../flow/Bus.ts";
import type { LoggedReplies } from "../../../generation/LoggedPolicy.ts";
import * as Checkpoints from "../Checkpoints.ts";
import { RunFolder } from "../RunFolder.ts";
import { decidingKeys } from "./decidingKeys.ts";
import { ReplyFiles, removeFiles } from "./ReplyFiles.ts";
import { encode } from "./ReplyRecord.ts";
import { ReplyWriter } from "./ReplyWriter.ts";
import { WindowReplies } from "./WindowReplies.ts";

export interface ReplyLog {
  /** The replies of a window. */
  readonly window: (window: number) => Effect.Effect<LoggedReplies>;
  /** Bytes that were logged so far. */
  readonly bytes: () => number;
}

/** The log of the run; null, the default, for none. */
export const CurrentReplyLog = Context.Reference<ReplyLog | null>("millrace/observe/ReplyLog", {
  defaultValue: () => null,
});

/** Milliseconds that the last records of a run may take. */
const DEADLINE_MS = 5_000;

/** What the log gave to a run that goes on. */
class Reuse {
  readonly #startedMs: number;
  #lastMs: number;
  #isTold = false;
  /** Last window that the log held when the run went on; -1 for none. */
  readonly #last: number;
  readonly #windows: WindowReplies[] = [];

  constructor(windows: readonly number[], startedMs: number) {
    this.#last = windows.at(-1) ?? -1;
    this.#startedMs = startedMs;
    this.#lastMs = startedMs;
  }

  add(window: WindowReplies): void {
    if (!this.#isTold) this.#windows.push(window);
  }

  recordGiven(atMs: number): void {
    this.#lastMs = atMs;
  }

  /** What to tell once the step of the last logged window is closed; null before, and after it was told. */
  told(step: number): Extract<Event, { readonly _tag: "RepliesReused" }> | null {
    if (this.#isTold || this.#last < 0 || step <= this.#last) return null;
    this.#isTold = true;
    const sum = (count: (window: WindowReplies) => number): number =>
      this.#windows.reduce((total, window) => total + count(window), 0);
    return {
      _tag: "RepliesReused",
      step,
      windows: this.#windows.filter(({ isWhole }) => isWhole).length,
      replies: sum(({ given }) => given),
      differing: sum(({ differing }) => differing),
      seconds: (this.#lastMs - this.#startedMs) / 1000,
    };
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

const open = Effect.fnUntraced(function* (config: RunConfig) {
  const bus = yield* Bus;
  const { checkpoints, replies: folder } = yield* RunFolder;
  const clock = yield* Clock.Clock;
  const now = () => clock.currentTimeMillisUnsafe();
  const { files, logged } = yield* openFiles(config, folder, bus.state().step);
  const reuse = new Reuse(logged, now());
  // A run that falls back to the checkpoint before the newest finds its replies, too.
  const oldest = config.trainer.max_checkpoints > 1 ? -2 : -1;
  const keptFrom = Effect.map(Checkpoints.list(checkpoints), (steps) => steps.at(oldest) ?? steps.at(-1) ?? 0);
  const writer = new ReplyWriter(
    files,
    folder,
    Effect.orElseSucceed(keptFrom, () => 0),
  );
  const runFork = Effect.runForkWith(yield* Effect.context());
  const end = (reason: string) => bus.emit({ _tag: "ReplyLogEnded", step: bus.state().step, reason });
  // The fiber outlives the scope, so that a write under way ends and the last records follow it.
  const writing = yield* Effect.forkDetach(Effect.catch(writer.run, end));
  yield* Effect.addFinalizer(() => {
    writer.close();
    return Effect.timeoutOrElse(Fiber.join(writing), { duration: DEADLINE_MS, orElse: () => Effect.void });
  });
  const windows = new Map<number, Promise<WindowReplies>>();
  const load = async (window: number): Promise<WindowReplies> => {
    const held = new WindowReplies(logged.includes(window) ? await files.read(window).catch(() => []) : []);
    reuse.add(held);
    return held;
  };
  const loggedWindow = (window: number, held: WindowReplies): LoggedReplies => ({
    find: (key, checksum) => {
      const found = held.find(key, checksum);
      if (found !== undefined) reuse.recordGiven(now());
      return found;
    },
    add: (key, checksum, sampled) => {
      held.countAdded();
      writer.add(window, encode({ key, request: checksum, sampled }));
    },
  });
  const closeStep = (step: number): void => {
    void windows.get(step - 1)?.then((held) => held.clear());
    windows.delete(step - 1);
    const told = reuse.told(step);
    if (told !== null) runFork(bus.emit(told));
  };
  bus.onEvent((event) => {
    if (event._tag === "StepClosed") closeStep(event.step);
    // A replay needs the replies of all windows.
    if (event._tag === "CheckpointWritten" && !config.trainer.replay) writer.removeOld();
  });
  const log: ReplyLog = {
    window: (window) =>
      Effect.promise(() => {
        const loading = windows.get(window) ?? load(window);
        windows.set(window, loading);
        return loading.then((held) => loggedWindow(window, held));
      }),
    bytes: () => writer.bytes,
  };
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
