/**
 * Runs a program as a child with this process's terminal and starts it again when the kernel or native code has killed it. Invariants: signals
 * sent to this process reach the child, a child that was asked to stop is not started again, and every other end is passed on.
 */
import { type ChildProcess, spawn } from "node:child_process";
import { constants } from "node:os";
import process from "node:process";
import { Effect, type Scope } from "effect";

/** The end of a child, as Node says it. */
export interface ChildEnd {
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
}

/** Signals that nobody sends to stop a program: of the kernel short of memory, and of faults in native code. */
const crashes: readonly NodeJS.Signals[] = ["SIGKILL", "SIGABRT", "SIGSEGV", "SIGBUS", "SIGILL", "SIGFPE", "SIGTRAP"];

/** The signal that killed a child; null where it ended by itself, or by a signal that asks a program to stop. A shell adds 128 to a signal's number. */
export const crashOf = ({ code, signal }: ChildEnd): NodeJS.Signals | null =>
  crashes.find((name) => name === signal || (code !== null && code === 128 + constants.signals[name])) ?? null;

/** The exit code that passes such an end on. */
export const exitCodeOf = ({ code, signal }: ChildEnd): number =>
  code ?? 128 + (signal === null ? 0 : constants.signals[signal]);

const forwarded = ["SIGINT", "SIGTERM", "SIGHUP"] as const;

/**
 * Passes signals on to the child while the scope lives. A terminal sends a Ctrl-C to the child as well, which takes the second one for an echo.
 */
const forwardSignals = (child: ChildProcess): Effect.Effect<void, never, Scope.Scope> => {
  const forward = (signal: NodeJS.Signals): void => void child.kill(signal);
  return Effect.acquireRelease(
    // Listeners of this process may end it at once, so this one comes first.
    Effect.sync(() => {
      for (const name of forwarded) process.prependListener(name, forward);
    }),
    () =>
      Effect.sync(() => {
        for (const name of forwarded) process.off(name, forward);
      }),
  );
};

export interface ChildOptions {
  /** The words after the program's name. */
  readonly words: readonly string[];
  /** Variables beside those of this process. */
  readonly variables: Readonly<Record<string, string>>;
  readonly onMessage: (message: unknown) => void;
}

/** Runs this process's program with other words until it ends. Fails where it cannot be started. */
export const runChild = ({ onMessage, variables, words }: ChildOptions): Effect.Effect<ChildEnd, Error> =>
  Effect.gen(function* () {
    const program = [...process.execArgv, process.argv[1] ?? ""];
    const child = spawn(process.execPath, [...program, ...words], {
      env: { ...process.env, ...variables },
      stdio: ["inherit", "inherit", "inherit", "ipc"],
    });
    child.on("message", onMessage);
    yield* forwardSignals(child);
    return yield* Effect.callback<ChildEnd, Error>((resume) => {
      child.once("error", (error) => resume(Effect.fail(error)));
      child.once("exit", (code, signal) => resume(Effect.succeed({ code, signal })));
    });
  }).pipe(Effect.scoped);
