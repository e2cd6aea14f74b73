/**
 * One run of a sweep as a process of its own, so that what one run does to its process ends no other. What it prints goes to a file. A stop
 * that is asked for is passed on, and the run's own orderly end is waited for.
 */
import { spawn } from "node:child_process";
import { closeSync, mkdirSync, openSync } from "node:fs";
import { dirname, join } from "node:path";
import { Effect } from "effect";
import type { RunConfig } from "../src/config/RunConfig.ts";
import { packageRoot } from "../src/support/files/packageRoot.ts";
import { Stop } from "../src/support/process/Stop.ts";
import type { SweepRun } from "../src/tools/sweep/Point.ts";

export interface RunOrder {
  readonly run: SweepRun;
  /** The run's resolved configuration. */
  readonly config: RunConfig;
  /** Words after `millrace`. */
  readonly words: readonly string[];
  /** The folder of an unfinished run to go on with; null starts a new one. */
  readonly resume: string | null;
  /** File of what it prints; appended to. */
  readonly log: string;
}

/** Exit code, or the name of the signal that ended it; a process that could not be started has its reason. */
export type ExitStatus = number | string;

/** Carries an order out; `runProcess` is the usual one. */
export type Runner = (order: RunOrder) => Effect.Effect<ExitStatus, never, Stop>;

const launcher = join(packageRoot, "pipelines", "millrace.mjs");

/** Starts the process; the promise never rejects. */
const startProcess = ({ log, words }: RunOrder) => {
  mkdirSync(dirname(log), { recursive: true });
  const output = openSync(log, "a");
  const child = spawn(process.execPath, [launcher, ...words], { stdio: ["ignore", output, output] });
  closeSync(output);
  const exited = new Promise<ExitStatus>((resolve) => {
    child.once("error", ({ message }) => resolve(message));
    child.once("exit", (code, signal) => resolve(code ?? signal ?? "lost"));
  });
  return { child, exited };
};

export const runProcess: Runner = Effect.fnUntraced(function* (order) {
  const { requested } = yield* Stop;
  const { child, exited } = startProcess(order);
  const passOn = Effect.andThen(
    requested,
    Effect.sync(() => child.kill("SIGINT")),
  );
  return yield* Effect.raceFirst(
    Effect.promise(() => exited),
    Effect.andThen(passOn, Effect.never),
  ).pipe(Effect.onInterrupt(() => Effect.sync(() => child.kill("SIGINT"))));
});
