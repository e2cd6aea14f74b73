#!/usr/bin/env node
/**
 * The entry point: parses the command line, resolves the run file and runs one pipeline. Exit code 0 when done, 2 for bad input with one
 * readable message on standard error, 1 for a failed engine, 130 when interrupted; stack traces only with `--debug`.
 */
import { isAbsolute, join } from "node:path";
import { Cause, Console, Effect, Exit, Logger } from "effect";
import { runs } from "../src/config/compose.ts";
import type { RunConfig } from "../src/config/RunConfig.ts";
import { load, type Resolved, resolve, warn } from "../src/config/resolve.ts";
import { BadInput } from "../src/domain/Errors.ts";
import { abandonedThreads } from "../src/model/runtime/Thread.ts";
import { version } from "../src/support/files/packageRoot.ts";
import { leave } from "../src/support/process/leave.ts";
import * as Stop from "../src/support/process/Stop.ts";
import { parse } from "./arguments.ts";
import type { Command, Invocation, PipelineName } from "./commands.ts";
import { playedFolders, withAdapterFolder } from "./configFolders.ts";
import { checkTrusted, runOf } from "./foreignCode.ts";
import { namedModel, namedRun } from "./namedRun.ts";
import { configDir } from "./paths.ts";

type Run = Extract<Command, { readonly _tag: "Run" }>;

const print = (lines: readonly string[]) => Effect.forEach(lines, (line) => Console.log(line), { discard: true });

/** The run file: the named one, or that of the run to resume. */
const resolvedFile = Effect.fnUntraced(function* ({ configName, envs, overrides, pipeline, resume }: Run) {
  if (resume !== null) {
    const folder = yield* namedRun("--resume", resume);
    return { ...(yield* resolve(join(folder, "config.yaml"), overrides, configDir)), resume: folder };
  }
  if (configName === null) {
    const names = runs(configDir).join(", ");
    return yield* new BadInput({ message: `${pipeline}: --config-name is missing; run files: ${names}` });
  }
  return { ...(yield* resolve(configName, overrides, configDir, envs)), resume };
});

/** The run file of a pipeline that may run it. */
const configOf = Effect.fnUntraced(function* (command: Run) {
  const file = yield* resolvedFile(command);
  if (file.validationOnly && command.pipeline !== "evaluate") {
    const name = command.configName ?? "NAME";
    const message = `${command.pipeline}: trainer.val_only: this run file only validates; nearest: millrace evaluate --config-name ${name}`;
    return yield* new BadInput({ message });
  }
  yield* warn(file);
  return file;
});

/** With absolute paths of the folders that the run reads, so that its config.yaml means the same from any working directory. */
const withFolders = Effect.fnUntraced(function* (
  pipeline: PipelineName,
  config: RunConfig,
  inherited: Resolved["inherited"],
) {
  const { checkInherited } = yield* Effect.promise(() => import("./smallModel.ts"));
  if (pipeline === "evaluate") {
    const played = yield* playedFolders(config);
    // An evaluation of endpoints alone leaves it as it is written.
    if (isAbsolute(played.model.path)) {
      yield* checkInherited("model.path", played.model.path, config.model.path, inherited);
    }
    return played;
  }
  if (pipeline !== "sft") {
    const path = yield* namedModel("model.path", config.model.path);
    yield* checkInherited("model.path", path, config.model.path, inherited);
    return { ...config, model: { ...config.model, path } };
  }
  if (config.sft.init === "random") return config;
  const init = yield* namedModel("sft.init", config.sft.init);
  yield* checkInherited("sft.init", init, config.sft.init, inherited);
  return { ...config, sft: { ...config.sft, init } };
});

/** The configuration of a pipeline with its presets checked and its folders found, and the folder of the run to resume or null. */
const checked = Effect.fnUntraced(function* (command: Run) {
  const { config: written, inherited, resume } = yield* configOf(command);
  const { pipeline } = command;
  const { checkPresets } = yield* Effect.promise(() => import("./presets.ts"));
  const { train, val } = written.es_manager;
  yield* checkPresets(
    written,
    pipeline === "sft" ? written.sft.sources.map(({ tag }) => tag) : [...train.tags, ...val.tags],
  );
  return { config: yield* withFolders(pipeline, yield* withAdapterFolder(written), inherited), resume };
});

/** The same where this machine has the memory for it. */
const resolved = Effect.fnUntraced(function* (command: Run) {
  const { config, resume } = yield* checked(command);
  const { checkMemory } = yield* Effect.promise(() => import("./memory.ts"));
  const { checkRuntime } = yield* Effect.promise(() => import("./runtime.ts"));
  yield* checkRuntime(config);
  yield* checkMemory(command.pipeline, config);
  if (command.pipeline === "train") {
    const { checkPlan } = yield* Effect.promise(() => import("./plan.ts"));
    yield* checkPlan(config);
  }
  return { config, resume };
});

const runPipeline = Effect.fnUntraced(function* (command: Run) {
  const { config, resume } = yield* Stop.unlessStopped(resolved(command), "anything was started");
  switch (command.pipeline) {
    case "train": {
      const { checkGoesOn, told } = yield* Effect.promise(() => import("./trainingEnd.ts"));
      if (resume !== null) yield* checkGoesOn(config, resume);
      const { train } = yield* Effect.promise(() => import("./train.ts"));
      let folder = resume;
      const onStart = (run: { readonly folder: string }): void => {
        folder = run.folder;
      };
      const ended = yield* train({ config, resume, watch: command.watch, parts: { onStart } });
      if (folder !== null && config.metrics.console !== "off") yield* told(folder);
      return ended;
    }
    case "evaluate": {
      const { evaluate } = yield* Effect.promise(() => import("./evaluate.ts"));
      return yield* evaluate({ config, resume });
    }
    case "sft": {
      const { sft } = yield* Effect.promise(() => import("./sft.ts"));
      return yield* sft({ config, resume });
    }
  }
});

/** The folder of the run whose config.yaml a command would run under; null where it runs under another run file, or none. */
const runBehind = (command: Command): Effect.Effect<string | null, BadInput> => {
  if (command._tag === "Run" && command.resume !== null) return namedRun("--resume", command.resume);
  if (!("configName" in command) || command.configName === null) return Effect.succeed(null);
  return runOf(command.configName);
};

/** Fails with BadInput where a command would run code that came with a run's folder, and the user does not let it. */
const checkCode = Effect.fnUntraced(function* (command: Command, trust: boolean) {
  const run = yield* runBehind(command);
  if (run === null || trust) return;
  const overrides = "overrides" in command ? command.overrides : [];
  const { config } = yield* resolve(join(run, "config.yaml"), overrides, configDir);
  yield* checkTrusted(config, { run, overrides });
});

const runCommand = Effect.fnUntraced(function* ({ command, switches }: Invocation) {
  yield* checkCode(command, switches.trust);
  switch (command._tag) {
    case "Run":
      return yield* runPipeline(command);
    case "Tune": {
      const { configName: name, overrides, ...options } = command;
      const where = { configName: name, envs: null, overrides, resume: null, watch: null };
      const run = { _tag: "Run", pipeline: "train", ...where } as const;
      const { config } = yield* Stop.unlessStopped(resolved(run), "anything was started");
      const { tune } = yield* Effect.promise(() => import("./tune.ts"));
      return yield* tune({ ...options, config, name, overrides });
    }
    case "Config": {
      const { config } = yield* Effect.promise(() => import("./config.ts"));
      return yield* config(command);
    }
    case "Plan": {
      const { configName, envs, json, overrides, probe } = command;
      const run = { _tag: "Run", pipeline: "train", configName, envs, overrides, resume: null, watch: null } as const;
      const { config } = yield* checked(run);
      const { planned } = yield* Effect.promise(() => import("./plan.ts"));
      return yield* planned({ config, json, probe });
    }
    case "Envs": {
      const { envs } = yield* Effect.promise(() => import("./envs.ts"));
      const config = yield* load(command.configName, command.overrides, configDir, command.envs);
      return yield* print(yield* envs(config, process.stdout.columns ?? 120));
    }
    case "Trace": {
      const { trace } = yield* Effect.promise(() => import("./trace.ts"));
      const config = yield* load(command.configName, command.overrides, configDir, command.envs);
      return yield* print(yield* trace({ ...command, config }));
    }
    case "Prompt": {
      const { configName, envs, overrides, ...options } = command;
      const run = { _tag: "Run", pipeline: "train", configName, envs, overrides, resume: null, watch: null } as const;
      const { config } = yield* checked(run);
      const { prompt } = yield* Effect.promise(() => import("./prompt.ts"));
      return yield* print(yield* prompt({ ...options, config }));
    }
    case "ValidateEnv": {
      const { validateEnv } = yield* Effect.promise(() => import("./validateEnv.ts"));
      const config = yield* load(command.configName, command.overrides, configDir, command.envs);
      const { isKept, lines } = yield* validateEnv({ ...command, config, width: process.stdout.columns ?? 120 });
      if (!isKept) process.exitCode = 1;
      return yield* print(lines);
    }
    case "ServeEnv": {
      const { serveEnv } = yield* Effect.promise(() => import("./serveEnv.ts"));
      return yield* serveEnv({ ...command, config: yield* load(command.configName, command.overrides, configDir) });
    }
    case "Watch": {
      const { watch } = yield* Effect.promise(() => import("./watch.ts"));
      return yield* watch(command);
    }
    case "Control": {
      const { control } = yield* Effect.promise(() => import("./control.ts"));
      return yield* print(yield* control(command));
    }
    case "Report": {
      const { report } = yield* Effect.promise(() => import("./report.ts"));
      return yield* print(yield* report(command));
    }
    case "Sweep": {
      const { sweep } = yield* Effect.promise(() => import("./sweep.ts"));
      return yield* sweep(command);
    }
    case "Runs": {
      const { runs: list } = yield* Effect.promise(() => import("./runs.ts"));
      return yield* print(yield* list(command));
    }
    case "Compare": {
      const { compare } = yield* Effect.promise(() => import("./compare.ts"));
      return yield* print(yield* compare(command));
    }
    case "Leaderboard": {
      const { leaderboard } = yield* Effect.promise(() => import("./leaderboard.ts"));
      return yield* print(yield* leaderboard(command));
    }
    case "Merge": {
      const { merge } = yield* Effect.promise(() => import("./merge.ts"));
      return yield* print(yield* merge(command));
    }
    case "Import": {
      const { importModel } = yield* Effect.promise(() => import("./importModel.ts"));
      return yield* print(yield* importModel(command));
    }
    case "Untie": {
      const { untie } = yield* Effect.promise(() => import("./untie.ts"));
      return yield* print(yield* untie(command));
    }
    case "Worker": {
      const { worker } = yield* Effect.promise(() => import("./worker.ts"));
      return yield* worker(command);
    }
    case "Broker": {
      const { render } = yield* Effect.promise(() => import("../src/remote/workers/permissions.ts"));
      return yield* Console.log(render(command).trimEnd());
    }
    case "Help": {
      const { help } = yield* Effect.promise(() => import("./help.ts"));
      return yield* print(yield* help(command.topic));
    }
    case "Version":
      return yield* Console.log(`millrace ${version}`);
    case "Complete": {
      const { complete } = yield* Effect.promise(() => import("./complete.ts"));
      return yield* print(yield* complete(command.words));
    }
    case "Completions":
      return yield* Console.log(command.script);
  }
});

/** The message of a failure. Only an unexpected error is printed with its class: our own errors have sentences for messages. */
const sentenceOf = (error: unknown): string => {
  if (!(error instanceof Error)) return String(error);
  return "_tag" in error ? error.message : `${error.name}: ${error.message}`;
};

/** The message and the exit code of a failure. */
const verdict = (cause: Cause.Cause<unknown>, debug: boolean): { readonly code: number; readonly text: string } => {
  if (Cause.hasInterruptsOnly(cause)) return { code: 130, text: "interrupted" };
  const error = Cause.squash(cause);
  if (error instanceof Stop.StoppedEarly) return { code: 0, text: error.message };
  if (error instanceof BadInput) return { code: 2, text: error.message };
  return { code: 1, text: debug ? Cause.pretty(cause) : `${sentenceOf(error)}\n(--debug prints the stack trace)` };
};

/** Ends the process after its output is flushed. */
const end = (code: number) =>
  process.stdout.write("", () =>
    process.stderr.write("", () => (abandonedThreads() > 0 ? leave(code) : process.exit(code))),
  );

/** Training and cloning save when a stop is asked for, tuning says what it knows, a sweep stops its runs, a server closes its sessions; the others have nothing to lose. */
const stopsInOrder = ({ command }: Invocation): boolean =>
  command._tag === "ServeEnv" ||
  command._tag === "Watch" ||
  command._tag === "Worker" ||
  command._tag === "Tune" ||
  command._tag === "Sweep" ||
  (command._tag === "Run" && command.pipeline !== "evaluate");

/**
 * Where standard output or error can no longer be written (its reader has gone, the terminal is closed), a command that stops in order goes
 * on without; another one, whose purpose is its output, ends without a message.
 */
const outliveOutput = (goesOn: boolean): void => {
  const gone = ({ code }: NodeJS.ErrnoException): unknown => goesOn || process.exit(code === "EPIPE" ? 0 : 1);
  for (const output of [process.stdout, process.stderr]) {
    // Every thread's output is piped to it, and listens.
    output.setMaxListeners(0);
    output.on("error", gone);
  }
};

/** The command under the signals: the first one ends it in order, or interrupts it where it has no order of its own. */
const underSignals = Effect.fnUntraced(function* (invocation: Invocation) {
  const stop = yield* Stop.signals;
  const running = Effect.provideService(runCommand(invocation), Stop.Stop, stop);
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
  if (Exit.isSuccess(exit)) return end(0);
  const { code, text } = verdict(exit.cause, debug);
  process.stderr.write(`${text}\n`);
  return end(code);
};

const parsed = await Effect.runPromiseExit(parse(process.argv.slice(2)));
if (Exit.isSuccess(parsed)) {
  const invocation = parsed.value;
  outliveOutput(stopsInOrder(invocation));
  finish(await Effect.runPromiseExit(Effect.provide(underSignals(invocation), warnings)), invocation.switches.debug);
} else {
  outliveOutput(false);
  finish(parsed, process.argv.includes("--debug"));
}
