/**
 * Keeps a user's module from ending the process: the calls that would end it throw instead, so that their caller fails. Calls that end
 * child processes work as usual.
 */
import { syncBuiltinESMExports } from "node:module";
import process from "node:process";
import * as Schema from "effect/Schema";

/** The error of a user's module that tries to end the process. */
export class ProcessEnd extends Schema.TaggedError<ProcessEnd>()("ProcessEnd", { message: Schema.String }) {}

/** True if the error, or its cause, is a `ProcessEnd`. */
export const isProcessEnd = (error: unknown): boolean =>
  error instanceof ProcessEnd || (error instanceof Error && error.cause instanceof ProcessEnd);

const refuse = (call: string): never => {
  throw new ProcessEnd({ message: `${call} would end the whole run; throw an error instead` });
};

/** True for a signal to this process or to its group; signal 0 only asks whether a process exists. */
const endsProcess = (pid: unknown, signal: unknown): boolean => {
  const target = Math.abs(Number(pid));
  return signal !== 0 && (target === process.pid || target === 0 || Number(pid) === -1);
};

interface ExitCalls {
  readonly abort: typeof process.abort;
  readonly exit: typeof process.exit;
  readonly kill: typeof process.kill;
  readonly reallyExit: unknown;
}

/** The calls as they were before the first guard; null while no guard is in force. */
let originals: ExitCalls | null = null;
let guards = 0;

const install = (): void => {
  const { abort, exit, kill } = process;
  originals = { abort, exit, kill, reallyExit: Reflect.get(process, "reallyExit") };
  process.exit = (code) => refuse(`process.exit(${code ?? ""})`);
  process.abort = () => refuse("process.abort()");
  process.kill = (pid, signal) =>
    endsProcess(pid, signal) ? refuse(`process.kill(${pid}, ${signal ?? "SIGTERM"})`) : kill.call(process, pid, signal);
  Reflect.set(process, "reallyExit", () => refuse("process.reallyExit()"));
  syncBuiltinESMExports();
};

/** Removes all guards, so that Node can end the thread. */
export const unguardProcess = (): void => {
  Object.assign(process, originals);
  originals = null;
  guards = 0;
  syncBuiltinESMExports();
};

/** Guards this thread until the returned function is called. */
export const guardProcess = (): (() => void) => {
  if (guards++ === 0) install();
  let isActive = true;
  return () => {
    if (!isActive) return;
    isActive = false;
    if (guards > 0 && --guards === 0) unguardProcess();
  };
};
