/** Processes in which a module's agent runs, one for each episode. Invariant: a process has ended when its episode has. */
import { type ChildProcess, fork } from "node:child_process";
import { Deferred, Effect, Semaphore } from "effect";
import { BadInput } from "../../domain/Errors.ts";
import { type AgentHost, within } from "./AgentHost.ts";
import { type HostFailure, hostFailure } from "./HostFailure.ts";
import type { FromRunner, RunnerSetup, ToRunner } from "./messages.ts";
import type { AgentResult } from "./outcome.ts";

export interface ProcessLimits {
  /** Most processes at once. */
  readonly processes: number;
  /** Seconds that an episode may take, its process's start included. */
  readonly seconds: number;
}

const file = new URL("./process.ts", import.meta.url);

/** A process, and whether its module is an agent. */
interface AgentProcess {
  readonly child: ChildProcess;
  readonly loaded: Deferred.Deferred<void, BadInput>;
  readonly result: Deferred.Deferred<AgentResult, HostFailure>;
}

const start = (setup: RunnerSetup): AgentProcess => {
  const child = fork(file, { execArgv: [], serialization: "advanced", stdio: ["ignore", "inherit", "inherit", "ipc"] });
  const loaded = Deferred.makeUnsafe<void, BadInput>();
  const result = Deferred.makeUnsafe<AgentResult, HostFailure>();
  const lose = (message: string): void => {
    Deferred.doneUnsafe(loaded, Effect.fail(new BadInput({ message: `agent: ${message} while it loaded` })));
    Deferred.doneUnsafe(result, Effect.fail(hostFailure("agent_crashed", message)));
  };
  child.on("error", ({ message }) => lose(`its process could not go on: ${message}`));
  child.on("exit", (code, signal) => lose(`its process ended (${signal ?? code})`));
  child.on("message", (message: FromRunner) => {
    if (message._tag === "Finished") Deferred.doneUnsafe(result, Effect.succeed(message.result));
    if (message._tag === "Failed")
      Deferred.doneUnsafe(result, Effect.fail(hostFailure("agent_error", message.message)));
    if (message._tag !== "Loaded") return;
    const problem = message.problem === null ? null : `agent: ${setup.path}: ${message.problem}`;
    Deferred.doneUnsafe(loaded, problem === null ? Effect.void : Effect.fail(new BadInput({ message: problem })));
  });
  child.send(setup);
  return { child, loaded, result };
};

const opened = (setup: RunnerSetup) =>
  Effect.acquireRelease(
    Effect.sync(() => start(setup)),
    ({ child }) => Effect.sync(() => child.kill("SIGKILL")),
  );

/** Plays each episode in a process of its own. Fails with BadInput where the module is no agent. */
export const make = Effect.fnUntraced(function* (
  setup: RunnerSetup,
  limits: ProcessLimits,
): Effect.fn.Return<AgentHost, BadInput> {
  yield* Effect.scoped(Effect.flatMap(opened(setup), ({ loaded }) => Deferred.await(loaded)));
  const permits = Semaphore.makeUnsafe(limits.processes);
  const play: AgentHost["play"] = Effect.fnUntraced(function* (order) {
    const { child, loaded, result } = yield* opened(setup);
    yield* Effect.mapError(Deferred.await(loaded), ({ message }) => hostFailure("agent_crashed", message));
    child.send({ _tag: "Run", id: 0, order } satisfies ToRunner);
    return yield* Deferred.await(result);
  }, Effect.scoped);
  return {
    isControlled: false,
    play: (order, account) => permits.withPermits(1)(within(limits.seconds)(play(order, account))),
  };
});
