/**
 * The command line as a value. Words go in, one `Command` comes out, or bad input that names the word and the nearest valid one.
 * Invariant: nothing is read, loaded or started here.
 */
import { parseArgs } from "node:util";
import { Result } from "effect";
import { byNearest, choices } from "../src/config/nearest.ts";
import { BadInput } from "../src/domain/Errors.ts";

export type PipelineName = "train" | "evaluate" | "sft";

export type Command =
  | {
      readonly _tag: "Run";
      readonly pipeline: PipelineName;
      readonly configName: string | null;
      readonly overrides: readonly string[];
      readonly resume: string | null;
    }
  | { readonly _tag: "Envs"; readonly configName: string; readonly overrides: readonly string[] }
  | {
      readonly _tag: "Trace";
      readonly configName: string;
      readonly overrides: readonly string[];
      readonly tag: string;
      readonly seed: number;
      readonly actions: string;
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
    }
  | { readonly _tag: "Help"; readonly topic: readonly string[] };

export interface Invocation {
  readonly command: Command;
  /** Print stack traces of failures. */
  readonly debug: boolean;
}

interface FlagInfo {
  /** Placeholder of the value; null for a switch. */
  readonly value: string | null;
  readonly meaning: string;
}

export interface CommandInfo {
  readonly usage: string;
  readonly meaning: string;
  readonly flags: Readonly<Record<string, FlagInfo>>;
}

const configName: FlagInfo = { value: "NAME", meaning: "Run file in config/, or a path to a YAML file." };
const shared: Readonly<Record<string, FlagInfo>> = {
  debug: { value: null, meaning: "Print stack traces." },
  help: { value: null, meaning: "Explain the command." },
};

export const commands: Readonly<Record<string, CommandInfo>> = {
  train: {
    usage: "train --config-name NAME [key.sub=value ...]",
    meaning: "Trains a policy.",
    flags: {
      "config-name": configName,
      resume: {
        value: "RUN_DIR",
        meaning:
          "Go on from the newest checkpoint of a run's folder, under its configuration and the overrides, which become part of it.",
      },
      ...shared,
    },
  },
  evaluate: {
    usage: "evaluate --config-name NAME [key.sub=value ...]",
    meaning: "Validates only; writes trajectories and a summary.",
    flags: { "config-name": configName, ...shared },
  },
  sft: {
    usage: "sft --config-name NAME [key.sub=value ...]",
    meaning: "Clones the behaviour of the environments' solvers.",
    flags: { "config-name": configName, ...shared },
  },
  envs: {
    usage: "envs [--config-name NAME] [key.sub=value ...]",
    meaning: "Lists environments and presets.",
    flags: { "config-name": configName, ...shared },
  },
  trace: {
    usage: 'trace TAG --seed N --actions "Up || Left || ..." [key.sub=value ...]',
    meaning: "Plays fixed actions without a model; one JSON object per action.",
    flags: {
      seed: { value: "N", meaning: "Seed of the instance." },
      actions: { value: "LIST", meaning: "Actions separated by ||." },
      "config-name": configName,
      ...shared,
    },
  },
  "serve-env": {
    usage: "serve-env TAG --port N [--host ADDRESS] [key.sub=value ...]",
    meaning: "Serves an environment to others by the OpenEnv protocol.",
    flags: {
      port: { value: "N", meaning: "Port for HTTP and WebSocket; 0 takes any free one." },
      host: { value: "ADDRESS", meaning: "Address to listen on, 127.0.0.1 by default." },
      "max-sessions": { value: "N", meaning: "Episodes played at once at most, 256 by default." },
      "idle-seconds": { value: "N", meaning: "A session that says nothing for so long is ended, 900 by default." },
      "max-steps": { value: "N", meaning: "Steps of one episode at most, 10000 by default." },
      "max-message-bytes": { value: "N", meaning: "Longest message taken from a client, 1048576 by default." },
      "config-name": configName,
      ...shared,
    },
  },
  help: {
    usage: "help [COMMAND | config [SECTION]]",
    meaning: "Explains a command, or lists every key of a run file.",
    flags: shared,
  },
};

const bad = (message: string) => Result.fail(new BadInput({ message }));

const unknown = (what: string, word: string, valid: readonly string[]) =>
  bad(`${what} ${JSON.stringify(word)}; nearest: ${byNearest(word, valid)[0]}; all: ${choices(word, valid, 20)}`);

interface Words {
  readonly positionals: readonly string[];
  readonly flags: ReadonlyMap<string, string>;
}

/** Splits words into positionals and flags, which may stand anywhere. */
const split = (name: string, { flags }: CommandInfo, words: readonly string[]): Result.Result<Words, BadInput> => {
  const options = Object.fromEntries(
    Object.entries(flags).map(([flag, { value }]) => [flag, { type: value === null ? "boolean" : "string" } as const]),
  );
  const { tokens } = parseArgs({
    args: words.map((word) => (word === "-h" ? "--help" : word)),
    options,
    strict: false,
    tokens: true,
  });
  const positionals: string[] = [];
  const given = new Map<string, string>();
  for (const token of tokens) {
    if (token.kind === "positional") positionals.push(token.value);
    if (token.kind !== "option") continue;
    if (!Object.hasOwn(flags, token.name)) {
      return unknown(
        `${name}: unknown flag`,
        token.rawName,
        Object.keys(flags).map((flag) => `--${flag}`),
      );
    }
    const wantsValue = flags[token.name].value !== null;
    if (wantsValue && (token.value === undefined || token.value.startsWith("--"))) {
      return bad(`${name}: --${token.name} needs a value: --${token.name} ${flags[token.name].value}`);
    }
    given.set(token.name, token.value ?? "");
  }
  return Result.succeed({ positionals, flags: given });
};

const run = (pipeline: PipelineName, { flags, positionals }: Words): Result.Result<Command, BadInput> => {
  const name = flags.get("config-name") ?? null;
  const resume = flags.get("resume") ?? null;
  if (name !== null && resume !== null) {
    return bad("train: --config-name and --resume exclude each other: a resumed run has its own config.yaml");
  }
  return Result.succeed({ _tag: "Run", pipeline, configName: name, overrides: positionals, resume });
};

const trace = ({ flags, positionals }: Words): Result.Result<Command, BadInput> => {
  const [tag, ...overrides] = positionals;
  const seed = flags.get("seed");
  const actions = flags.get("actions");
  if (tag === undefined || tag.includes("=")) return bad(`trace: TAG is missing: millrace ${commands.trace.usage}`);
  if (seed === undefined) return bad(`trace: --seed is missing: millrace ${commands.trace.usage}`);
  if (actions === undefined) return bad(`trace: --actions is missing: millrace ${commands.trace.usage}`);
  if (!/^\d{1,9}$/.test(seed)) {
    return bad(`trace: --seed: ${JSON.stringify(seed)}: expected an integer from 0 to 999999999; nearest: 0`);
  }
  const configName = flags.get("config-name") ?? "base";
  return Result.succeed({ _tag: "Trace", configName, overrides, tag, seed: Number(seed), actions });
};

/** A flag's whole number, its default where the flag is not given. */
const whole = (
  { flags }: Words,
  name: string,
  flag: string,
  { fallback, max, min }: { readonly fallback: number; readonly min: number; readonly max: number },
): Result.Result<number, BadInput> => {
  const text = flags.get(flag) ?? String(fallback);
  const value = /^-?\d{1,15}$/.test(text) ? Number(text) : Number.NaN;
  if (value >= min && value <= max) return Result.succeed(value);
  const nearest = Number.isNaN(value) ? fallback : value < min ? min : max;
  return bad(
    `${name}: --${flag}: ${JSON.stringify(text)}: expected an integer from ${min} to ${max}; nearest: ${nearest}`,
  );
};

const serveEnv = (words: Words): Result.Result<Command, BadInput> => {
  const [tag, ...overrides] = words.positionals;
  const usage = `millrace ${commands["serve-env"].usage}`;
  if (tag === undefined || tag.includes("=")) return bad(`serve-env: TAG is missing: ${usage}`);
  if (!words.flags.has("port")) return bad(`serve-env: --port is missing: ${usage}`);
  const flag = (name: string, fallback: number, min: number, max: number) =>
    whole(words, "serve-env", name, { fallback, min, max });
  return Result.map(
    Result.all({
      port: flag("port", 8_000, 0, 65_535),
      maxSessions: flag("max-sessions", 256, 1, 1_000_000),
      idleSeconds: flag("idle-seconds", 900, 1, 1_000_000),
      maxSteps: flag("max-steps", 10_000, 1, 1_000_000_000),
      maxMessageBytes: flag("max-message-bytes", 2 ** 20, 1_000, 2 ** 30),
    }),
    ({ idleSeconds, ...limits }): Command => ({
      _tag: "ServeEnv",
      configName: words.flags.get("config-name") ?? "base",
      overrides,
      tag,
      host: words.flags.get("host") ?? "127.0.0.1",
      idleMs: 1_000 * idleSeconds,
      ...limits,
    }),
  );
};

const command = (name: string, words: Words): Result.Result<Command, BadInput> => {
  if (words.flags.has("help")) return Result.succeed({ _tag: "Help", topic: [name] });
  switch (name) {
    case "train":
    case "evaluate":
    case "sft":
      return run(name, words);
    case "envs": {
      const configName = words.flags.get("config-name") ?? "base";
      return Result.succeed({ _tag: "Envs", configName, overrides: words.positionals });
    }
    case "trace":
      return trace(words);
    case "serve-env":
      return serveEnv(words);
    default:
      return Result.succeed({ _tag: "Help", topic: words.positionals });
  }
};

/** Reads the words after `millrace`. */
export const parse = (words: readonly string[]): Result.Result<Invocation, BadInput> => {
  const [name, ...rest] = words;
  const names = Object.keys(commands);
  if (name === undefined)
    return bad(`a command is missing; one of ${names.join(", ")}; \`millrace help\` explains them`);
  if (name === "--help" || name === "-h") return Result.succeed({ command: { _tag: "Help", topic: [] }, debug: false });
  if (!Object.hasOwn(commands, name)) return unknown("unknown command", name, names);
  return Result.flatMap(split(name, commands[name], rest), (split) =>
    Result.map(command(name, split), (command) => ({ command, debug: split.flags.has("debug") })),
  );
};
