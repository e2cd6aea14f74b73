/** train, evaluate and sft share these parts: each takes a run file, or a run to go on with. */
import { Effect } from "effect";
import * as Stop from "../../src/support/process/Stop.ts";
import { agentOverrides } from "../agentOverrides.ts";
import { orNull, text } from "../flags.ts";
import type { PipelineName } from "../pipelineName.ts";
import type { RunWords } from "../prepareRun.ts";
import { load } from "./Command.ts";
import { bad, configName, envs, overrides } from "./words.ts";

/** The flags of a run; `description` is of `--resume`. */
export const runFlags = (description: string) => ({
  configName: orNull(configName),
  envs,
  resume: orNull(text("resume", "RUN", description)),
  overrides,
});

/** The flag of commands that play an agent. */
export const agentFlag = orNull(
  text(
    "agent",
    "AGENT",
    "Play an agent of your own in place of the run file's environments: a module (defineAgent of millrace/agent), a command in quotes, or the address of your server.",
  ),
);

/** The words with the overrides that an agent stands for; those of the command line come later and win. */
export const withAgent = <Words extends Pick<RunWords, "overrides">>(words: Words, agent: string | null): Words =>
  agent === null ? words : { ...words, overrides: [...agentOverrides(agent), ...words.overrides] };

/** Fails where a run to go on with is given a run file too. */
export const readRun = <Words extends RunWords>(pipeline: PipelineName, words: Words) => {
  const other = words.configName !== null ? "--config-name" : words.envs !== null ? "--envs" : null;
  return other !== null && words.resume !== null
    ? bad(`${pipeline}: ${other} and --resume exclude each other: a resumed run has its own config.yaml`)
    : Effect.succeed(words);
};

/** The configuration to run; a signal meanwhile ends the command before anything is started. */
export const prepared = (pipeline: PipelineName, words: RunWords) =>
  Stop.unlessStopped(
    Effect.flatMap(
      load(() => import("../prepareRun.ts")),
      ({ prepareRun }) => prepareRun(pipeline, words),
    ),
    "anything was started",
  );
