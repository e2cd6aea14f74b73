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
import { type AgentHost, type EpisodeOrder, within } from "./AgentHost.ts";
import type { ProcessLimits } from "./AgentProcesses.ts";
import type { EpisodeAccount } from "./EpisodeAccount.ts";
import { type HostFailure, hostFailure } from "./HostFailure.ts";
import { type AgentResult, readOutcome } from "./outcome.ts";
import type { TaskSource } from "./tasks.ts";

/** Characters of output that are kept: its end. */
const keptOutput = 65_536;
/** Characters of the error output that a failure shows. */
const shownError = 500;
/** Systems bound the length of one variable; a longer task comes on standard input alone. */
const longestVariable = 100_000;
/** A command that was asked to end is killed after this time. */
const graceMs = 2_000;

/** The variables by which clients of most languages find an endpoint, and the task as JSON. */
export const environmentOf = (order: EpisodeOrder, task: string): NodeJS.ProcessEnv => {
  const { apiKey, endpoint, group, member, seed, split } = order;
  // The run's own token is not the agent's.
  const { MILLRACE_TOKEN: _, ...inherited } = process.env;
  return {
    ...inherited,
    OPENAI_BASE_URL: `${endpoint}/v1`,
    OPENAI_API_BASE: `${endpoint}/v1`,
    OPENAI_API_KEY: apiKey,
    ANTHROPIC_BASE_URL: endpoint,
    ANTHROPIC_API_KEY: apiKey,
    ...(task.length > longestVariable ? {} : { MILLRACE_TASK: task }),
    MILLRACE_EPISODE: JSON.stringify({ split, seed, group, member }),
  };
};

const lastLineOf = (text: string): string => text.trimEnd().split("\n").at(-1)?.trim() ?? "";

const parsedLine = (line: string): unknown => {
  if (!line.startsWith("{")) return undefined;
  try {
    return JSON.parse(line);
  } catch {
    return undefined;
  }
};

/** The result of a command that has ended: its last line's, or that of the control routes. */
export const resultOf = (
  { code, signal, stderr, stdout }: CommandEnd,
  account: Pick<EpisodeAccount, "rewards">,
): Result.Result<AgentResult, HostFailure> => {
  const error = lastLineOf(stderr).slice(-shownError);
  const said = error === "" ? "" : `: ${error}`;
  if (signal !== null) return Result.fail(hostFailure("agent_crashed", `its command was ended by ${signal}${said}`));
  if (code !== 0) return Result.fail(hostFailure("agent_error", `its command ended with exit code ${code}${said}`));
  const line = lastLineOf(stdout);
  const outcome = parsedLine(line);
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

const signalGroup = ({ pid }: ChildProcess, signal: NodeJS.Signals): void => {
  if (pid === undefined) return;
  try {
    process.kill(-pid, signal);
  } catch {
    // The group has ended.
  }
};

interface RunningCommand {
  readonly child: ChildProcess;
  readonly ended: Deferred.Deferred<CommandEnd, HostFailure>;
}

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
    Deferred.doneUnsafe(ended, Effect.fail(hostFailure("agent_crashed", `its command could not be run: ${message}`)));
  });
  child.on("close", (code, signal) => {
    Deferred.doneUnsafe(ended, Effect.succeed({ code, signal, stdout, stderr }));
  });
  return { child, ended };
};

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
  const play: AgentHost["play"] = Effect.fnUntraced(function* (order, account) {
    const task = JSON.stringify((yield* Effect.promise(async () => taskOf(order.seed, order.split))) ?? null);
    const running = yield* Effect.acquireRelease(
      Effect.sync(() => start(command, order, task)),
      stop,
    );
    const result = Effect.flatMap(Deferred.await(running.ended), (end) => Effect.fromResult(resultOf(end, account)));
    return yield* Effect.raceFirst(result, Deferred.await(account.ended));
  }, Effect.scoped);
  return {
    isControlled: true,
    play: (order, account) => permits.withPermits(1)(within(limits.seconds)(play(order, account))),
  };
});
