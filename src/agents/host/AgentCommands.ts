/**
 * An agent in any language: a command that is run once an episode, with the endpoint and the task in its environment. Its last line, or a control
 * route, gives the reward. Invariant: the process and its descendants are gone when its episode has ended.
 */
import { type ChildProcess, spawn } from "node:child_process";
import { constants } from "node:fs";
import { access } from "node:fs/promises";
import { delimiter, join, resolve } from "node:path";
import process from "node:process";
import { Deferred, Effect, Result, Semaphore } from "effect";
import { BadInput } from "../../domain/Errors.ts";
import { jsonOrUndefined } from "../../support/http/errorText.ts";
import { loopback } from "../../support/http/serverFlags.ts";

import { type AgentHost, type EpisodeOrder, within } from "./AgentHost.ts";
import { type ProcessLimits, signalGroup } from "./AgentProcesses.ts";
import type { EpisodeAccount } from "./EpisodeAccount.ts";
import { type HostFailure, hostFailure } from "./HostFailure.ts";
import { type AgentResult, readOutcome } from "./outcome.ts";
import type { TaskSource } from "./tasks.ts";

/** Characters of output that are kept: its end. */
const keptOutput = 65_536;
/** Characters of the error output that a failure shows. */
const shownError = 500;
/** Linux bounds a variable to 128 KiB; a task of more bytes than these comes on standard input alone. */
const longestVariable = 100_000;
/** A command that was asked to end is killed after this time. */
const graceMs = 2_000;

/** The variables by which clients of most languages find an endpoint, and the task as JSON. */
export const environmentOf = (order: EpisodeOrder, task: string): NodeJS.ProcessEnv => {
  const { apiKey, endpoint, group, level, member, seed, split } = order;
  // The run's own token is not the agent's.
  const { MILLRACE_TOKEN: _, ...inherited } = process.env;
  // Clients of Python ask a proxy for every address that is not left out, this machine's included.
  const unproxied = [inherited.NO_PROXY ?? inherited.no_proxy ?? "", loopback].filter((hosts) => hosts !== "").join();
  return {
    ...inherited,
    NO_PROXY: unproxied,
    no_proxy: unproxied,
    OPENAI_BASE_URL: `${endpoint}/v1`,
    OPENAI_API_BASE: `${endpoint}/v1`,
    OPENAI_API_KEY: apiKey,
    ANTHROPIC_BASE_URL: endpoint,
    ANTHROPIC_API_KEY: apiKey,
    ...(Buffer.byteLength(task) > longestVariable ? {} : { MILLRACE_TASK: task }),
    MILLRACE_EPISODE: JSON.stringify({ split, seed, group, member, level }),
  };
};

const lastLineOf = (text: string): string => text.trimEnd().split("\n").at(-1)?.trim() ?? "";

/** The line of the error that ended a command: the last, but Node prints its stack and version behind it. */
const errorLineOf = (text: string): string => {
  const last = lastLineOf(text);
  if (!last.startsWith("Node.js v")) return last;
  return text.split("\n").findLast((line) => /^\w*(?:Error|Exception)\b.*: /.test(line)) ?? last;
};

/** The result of a command that has ended: its last line's, or that of the control routes. */
export const resultOf = (
  { code, signal, stderr, stdout }: CommandEnd,
  account: Pick<EpisodeAccount, "rewards">,
): Result.Result<AgentResult, HostFailure> => {
  const error = errorLineOf(stderr).slice(0, shownError);
  const said = error === "" ? "" : `: ${error}`;
  if (signal !== null) return Result.fail(hostFailure("agent_crashed", `its command was ended by ${signal}${said}`));
  if (code !== 0) return Result.fail(hostFailure("agent_error", `its command ended with exit code ${code}${said}`));
  const line = lastLineOf(stdout);
  const outcome = line.startsWith("{") ? jsonOrUndefined(line) : undefined;
  if (outcome === undefined && account.rewards === null) {
    const shown = line === "" ? "nothing" : JSON.stringify(line.slice(-shownError));
    return Result.fail(hostFailure("agent_error", `its last line is no outcome such as {"reward": 1}: ${shown}`));
  }
  return Result.mapError(readOutcome(outcome, account.rewards), (message) => hostFailure("agent_error", message));
};

/** The end of a command, with the ends of what it printed. */
export interface CommandEnd {
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
  readonly stdout: string;
  readonly stderr: string;
}

/** Kills the commands that still run when this process ends at once: they would outlive it, being groups of their own. */
class ExitGuard {
  readonly #children = new Set<ChildProcess>();
  readonly #kill = (): void => {
    for (const child of this.#children) signalGroup(child, "SIGKILL");
  };

  add(child: ChildProcess): void {
    if (this.#children.size === 0) process.on("exit", this.#kill);
    this.#children.add(child);
  }

  remove(child: ChildProcess): void {
    this.#children.delete(child);
    if (this.#children.size === 0) process.off("exit", this.#kill);
  }
}

interface RunningCommand {
  readonly child: ChildProcess;
  readonly ended: Deferred.Deferred<CommandEnd, HostFailure>;
}

const notRun = (message: string): HostFailure =>
  hostFailure("agent_crashed", `its command could not be run: ${message}`);

const start = ([program = "", ...args]: readonly string[], order: EpisodeOrder, task: string): RunningCommand => {
  const ended = Deferred.makeUnsafe<CommandEnd, HostFailure>();
  // A detached child leads a process group, so that one signal reaches all of its processes.
  const child = spawn(program, args, { env: environmentOf(order, task), detached: true, stdio: "pipe" });
  let [stdout, stderr] = ["", ""];
  child.stdout.setEncoding("utf8").on("data", (text: string) => {
    stdout = (stdout + text).slice(-keptOutput);
  });
  child.stderr.setEncoding("utf8").on("data", (text: string) => {
    stderr = (stderr + text).slice(-keptOutput);
  });
  // A command need not read its input.
  child.stdin.on("error", () => undefined);
  child.stdin.end(`${task}\n`);
  child.on("error", ({ message }) => {
    Deferred.doneUnsafe(ended, Effect.fail(notRun(message)));
  });
  // Processes that a command leaves behind may hold its output open, and "close" waits for them.
  child.on("exit", () => signalGroup(child, "SIGKILL"));
  child.on("close", (code, signal) => {
    Deferred.doneUnsafe(ended, Effect.succeed({ code, signal, stdout, stderr }));
  });
  return { child, ended };
};

/** Starts the command. Some errors come by an event, others, such as an environment that is too large, are thrown. */
const tryStart = (command: readonly string[], order: EpisodeOrder, task: string) =>
  Effect.try({
    try: () => start(command, order, task),
    catch: (cause) => notRun(cause instanceof Error ? cause.message : String(cause)),
  });

/** Asks the command to end, and kills what is left of its group. */
const stop = ({ child, ended }: RunningCommand): Effect.Effect<void> =>
  Effect.suspend(() => {
    if (Deferred.isDoneUnsafe(ended)) return Effect.sync(() => signalGroup(child, "SIGKILL"));
    signalGroup(child, "SIGTERM");
    return Effect.exit(Deferred.await(ended)).pipe(
      Effect.timeoutOption(graceMs),
      Effect.andThen(Effect.sync(() => signalGroup(child, "SIGKILL"))),
    );
  });

const isProgram = (path: string): Promise<boolean> =>
  access(path, constants.X_OK).then(
    () => true,
    () => false,
  );

/** Fails with BadInput where the program is not there. */
const findProgram = Effect.fnUntraced(function* (program: string) {
  const folders = /[/\\]/.test(program) ? [""] : (process.env.PATH ?? "").split(delimiter);
  for (const folder of folders) {
    if (yield* Effect.promise(() => isProgram(folder === "" ? resolve(program) : join(folder, program)))) return;
  }
  const where = folders[0] === "" ? "no such program" : "no such program on the PATH";
  return yield* new BadInput({ message: `agent.command: ${JSON.stringify(program)}: ${where}` });
});

/** Runs `command` once an episode. Fails with BadInput where its program is not there. */
export const make = Effect.fnUntraced(function* (
  command: readonly string[],
  taskOf: TaskSource,
  limits: ProcessLimits,
): Effect.fn.Return<AgentHost, BadInput> {
  yield* findProgram(command[0] ?? "");
  const permits = Semaphore.makeUnsafe(limits.processes);
  const guard = new ExitGuard();
  const opened = (order: EpisodeOrder, task: string) =>
    Effect.acquireRelease(
      Effect.tap(tryStart(command, order, task), ({ child }) => Effect.sync(() => guard.add(child))),
      (running) =>
        Effect.tap(
          stop(running),
          Effect.sync(() => guard.remove(running.child)),
        ),
    );
  const play: AgentHost["play"] = Effect.fnUntraced(function* (order, account) {
    const task = JSON.stringify(
      (yield* Effect.promise(async () => taskOf(order.seed, order.split, order.level))) ?? null,
    );
    const running = yield* opened(order, task);
    const result = Effect.flatMap(Deferred.await(running.ended), (end) => Effect.fromResult(resultOf(end, account)));
    return yield* Effect.raceFirst(result, Deferred.await(account.ended));
  }, Effect.scoped);
  return {
    isControlled: true,
    play: (order, account) => permits.withPermits(1)(within(limits.seconds)(play(order, account))),
  };
});
