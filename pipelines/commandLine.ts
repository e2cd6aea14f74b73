/**
 * The command line: parses the words, resolves the run file and runs one pipeline. Exit code 0 when done, 2 for bad input with one
 * readable message on standard error, 1 for a failed engine, 130 when interrupted; stack traces only with `--debug`.
 */
import { join } from "node:path";
import { Cause, Console, Effect, Exit, Logger } from "effect";
import { BadInput } from "../src/domain/Errors.ts";
import { abandonedThreads } from "../src/model/runtime/Thread.ts";
import { version } from "../src/support/files/packageRoot.ts";
import { exitNow } from "../src/support/process/exitNow.ts";
import * as Stop from "../src/support/process/Stop.ts";
import { type Invocation, parse } from "./arguments.ts";
import { load, print, type Task } from "./commands/Command.ts";
import { checkTrusted, runOf } from "./foreignCode.ts";
import { namedRun } from "./namedRun.ts";
import { outliveOutput } from "./outliveOutput.ts";
import { configDir } from "./paths.ts";

const wordOf = (words: unknown, key: string): unknown =>
  typeof words === "object" && words !== null ? Reflect.get(words, key) : undefined;

const textOf = (words: unknown, key: string): string | null => {
  const value = wordOf(words, key);
  return typeof value === "string" ? value : null;
};

/** The folder of the run whose config.yaml a task would run under; null where it runs under another run file, or none. */
const runBehind = ({ words }: Task): Effect.Effect<string | null, BadInput> => {
  const [resume, configName] = [textOf(words, "resume"), textOf(words, "configName")];
  if (resume !== null) return namedRun("--resume", resume);
  return configName === null ? Effect.succeed(null) : runOf(configName);
};

/** Fails with BadInput where a task would run code that came with a run's folder, and the user does not let it. */
const checkCode = Effect.fnUntraced(function* (task: Task, trust: boolean) {
  const run = yield* runBehind(task);
  if (run === null || trust) return;
  const given = wordOf(task.words, "overrides");
  const overrides = Array.isArray(given) ? given.map(String) : [];
  const { resolve } = yield* load(() => import("../src/config/resolve.ts"));
  const { config } = yield* resolve(join(run, "config.yaml"), overrides, configDir);
  yield* checkTrusted(config, { run, overrides });
});

const answer = Effect.fnUntraced(function* ({ request, switches }: Invocation) {
  switch (request._tag) {
    case "Task":
      yield* checkCode(request, switches.trust);
      return yield* request.work;
    case "Help": {
      const { help } = yield* Effect.promise(() => import("./help.ts"));
      return yield* print(yield* help(request.topic));
    }
    case "Complete": {
      const { complete } = yield* Effect.promise(() => import("./complete.ts"));
      return yield* print(yield* complete(request.words));
    }
    case "Version":
      return yield* Console.log(`millrace ${version}`);
    case "Completions":
      return yield* Console.log(request.script);
  }
});

/** The message of a failure. Only an unexpected error is printed with its class: our own errors have sentences for messages. */
const sentenceOf = (error: unknown): string => {
  if (!(error instanceof Error)) return String(error);
  return "_tag" in error ? error.message : `${error.name}: ${error.message}`;
};

/** The message and the exit code of a failure. */
const failureReport = (
  cause: Cause.Cause<unknown>,
  debug: boolean,
): { readonly code: number; readonly text: string } => {
  if (Cause.hasInterruptsOnly(cause)) return { code: 130, text: "interrupted" };
  const error = Cause.squash(cause);
  if (error instanceof Stop.StoppedEarly) return { code: 0, text: error.message };
  if (error instanceof BadInput) return { code: 2, text: error.message };
  return { code: 1, text: debug ? Cause.pretty(cause) : `${sentenceOf(error)}\n(--debug prints the stack trace)` };
};

/** Ends the process after its output is flushed. */
const end = (code: number) =>
  process.stdout.write("", () =>
    process.stderr.write("", () => (abandonedThreads() > 0 ? exitNow(code) : process.exit(code))),
  );

/** Training and cloning save when a stop is asked for, tuning says what it knows, a sweep stops its runs, a server closes its sessions; the others have nothing to lose. */
const stopsInOrder = ({ request }: Invocation): boolean => request._tag === "Task" && request.stopsInOrder;

/** The command under the signals: the first one ends it in order, or interrupts it where it has no order of its own. */
const underSignals = Effect.fnUntraced(function* (invocation: Invocation) {
  const stop = yield* Stop.stopOnSignals;
  const running = Effect.provideService(answer(invocation), Stop.Stop, stop);
  return yield* stopsInOrder(invocation)
    ? running
    : Effect.raceFirst(running, Effect.andThen(stop.requested, Effect.interrupt));
}, Effect.scoped);

/** Warnings on standard error, one line each. */
const warnings = Logger.layer([
  Logger.make(({ message }) =>
    process.stderr.write(`warning: ${Array.isArray(message) ? message.join(" ") : message}\n`),
  ),
]);

const finish = (exit: Exit.Exit<unknown, unknown>, debug: boolean) => {
  // A command that did its work may still have found a failure to report by its code.
  if (Exit.isSuccess(exit)) return end(Number(process.exitCode ?? 0));
  const { code, text } = failureReport(exit.cause, debug);
  process.stderr.write(`${text}\n`);
  return end(code);
};

/** Runs the words after `millrace`, and ends the process. */
export const run = async (words: readonly string[]): Promise<void> => {
  const parsed = await Effect.runPromiseExit(parse(words));
  if (Exit.isFailure(parsed)) {
    outliveOutput(false);
    finish(parsed, words.includes("--debug"));
    return;
  }
  const invocation = parsed.value;
  outliveOutput(stopsInOrder(invocation));
  finish(await Effect.runPromiseExit(Effect.provide(underSignals(invocation), warnings)), invocation.switches.debug);
};
