/**
 * The command line, declared with `effect/cli`. Words go in; one `Command` comes out, or bad input that names the word and the nearest
 * valid one. This is the only file that knows the module: `messageOf` turns its errors into our messages.
 * Invariant: nothing is read, loaded or started here.
 */
import * as NodeServices from "@effect/platform-node/NodeServices";
import { Context, Effect, Option } from "effect";
import * as Argument from "effect/cli/Argument";
import * as CliConfig from "effect/cli/CliConfig";
import * as CliError from "effect/cli/CliError";
import * as CliOutput from "effect/cli/CliOutput";
import * as Cli from "effect/cli/Command";
import * as Completions from "effect/cli/Completions";
import * as Flag from "effect/cli/Flag";
import * as GlobalFlag from "effect/cli/GlobalFlag";
import type { FlagDoc, HelpDoc } from "effect/cli/HelpDoc";
import { byNearest, choices } from "../src/config/nearest.ts";
import { shown } from "../src/config/shown.ts";
import { BadInput } from "../src/domain/Errors.ts";
import {
  type Command,
  type CommandName,
  commands,
  type Invocation,
  isCommandName,
  type PipelineName,
} from "./commands.ts";

/** Takes the command that the words stand for; `parse` provides it. */
class Accept extends Context.Service<Accept, (command: Command, debug: boolean) => void>()("millrace/cli/Accept") {}

const root = Cli.make("millrace").pipe(
  Cli.withSharedFlags({
    debug: Flag.Boolean("debug").pipe(
      Flag.withoutNegation,
      Flag.withDefault(false),
      Flag.withDescription("Print stack traces."),
    ),
  }),
  Cli.withDescription("Multi-turn agent reinforcement learning as an asynchronous pipeline."),
);

const accept = Effect.fnUntraced(function* (command: Command) {
  const { debug } = yield* root;
  (yield* Accept)(command, debug);
});

const text = (name: string, placeholder: string, description: string) =>
  Flag.String(name).pipe(Flag.withMetavar(placeholder), Flag.withDescription(description));

const orNull = <A>(flag: Flag.Flag<A>) => flag.pipe(Flag.optional, Flag.map(Option.getOrNull));

interface Range {
  readonly min: number;
  readonly max: number;
  /** Taken where the flag is not given, and named as nearest where its value is no number. */
  readonly fallback: number;
}

/** A whole number of a range, from the text of a flag. */
const whole = (flag: Flag.Flag<string>, name: string, { fallback, max, min }: Range) =>
  Flag.mapEffect(flag, (written) => {
    const value = /^-?\d{1,15}$/.test(written) ? Number(written) : Number.NaN;
    if (value >= min && value <= max) return Effect.succeed(value);
    const nearest = Number.isNaN(value) ? fallback : value < min ? min : max;
    const expected = `an integer from ${min} to ${max}; nearest: ${nearest}`;
    return new CliError.InvalidValue({ option: name, value: written, expected, kind: "flag" });
  });

const required = (name: string, range: Range, description: string) => whole(text(name, "N", description), name, range);

const limit = (name: string, range: Range, description: string) =>
  whole(text(name, "N", description).pipe(Flag.withDefault(String(range.fallback))), name, range);

const optional = (name: string, range: Range, description: string) =>
  orNull(whole(text(name, "N", description), name, range));

/** Of a server, unless it is told of more sessions or longer messages. */
const leastConnections = 1_024;
const leastBufferedBytes = 2 ** 26;

/** A flag that may be given more than once. */
const several = (name: string, placeholder: string, description: string) =>
  Flag.atLeast(text(name, placeholder, description), 0);

/** Every value of a flag that `form` matches. */
const formed = (flag: Flag.Flag<readonly string[]>, name: string, form: RegExp, expected: string) =>
  Flag.mapEffect(flag, (values) => {
    const wrong = values.find((value) => !form.test(value));
    if (wrong === undefined) return Effect.succeed(values);
    return new CliError.InvalidValue({ option: name, value: wrong, expected, kind: "flag" });
  });

const configName = text("config-name", "NAME", "Run file in config/, or a path to a YAML file.");
/** Of the commands that need a run file only for its presets. */
const presetsFile = configName.pipe(Flag.withDefault("base"));
const overrides = Argument.variadic(
  Argument.String("key.sub=value").pipe(
    Argument.withDescription("A key of the run file and its YAML value; RAGEN's key paths are accepted."),
  ),
);

const bad = (message: string) => new BadInput({ message });

const missing = (name: CommandName, what: string) => `${name}: ${what} is missing: millrace ${commands[name].usage}`;

/** The preset's tag: an override in its place means that it was left out. */
const tagged = (name: CommandName, tag: string) =>
  tag.includes("=") ? bad(missing(name, "TAG")) : Effect.succeed(tag);

const tagArgument = Argument.String("TAG").pipe(Argument.withDescription("A preset of the run file."));

const resumable = (description: string) => ({
  configName: orNull(configName),
  resume: orNull(text("resume", "RUN_DIR", description)),
  overrides,
});

interface RunWords {
  readonly configName: string | null;
  readonly resume: string | null;
  readonly overrides: readonly string[];
}

const acceptRun = (pipeline: PipelineName, words: RunWords) =>
  words.configName !== null && words.resume !== null
    ? bad(`${pipeline}: --config-name and --resume exclude each other: a resumed run has its own config.yaml`)
    : accept({ _tag: "Run", pipeline, ...words });

const train = Cli.make(
  "train",
  resumable(
    "Go on from the newest checkpoint of a run's folder, under its configuration and the overrides, which become part of it.",
  ),
  (words) => acceptRun("train", words),
);

const evaluate = Cli.make("evaluate", { configName: orNull(configName), overrides }, (words) =>
  acceptRun("evaluate", { ...words, resume: null }),
);

const sft = Cli.make(
  "sft",
  resumable("Go on from the newest checkpoint of a cloning run's folder, under its configuration and the overrides."),
  (words) => acceptRun("sft", words),
);

const envs = Cli.make("envs", { configName: presetsFile, overrides }, (words) => accept({ _tag: "Envs", ...words }));

const trace = Cli.make(
  "trace",
  {
    tag: tagArgument,
    overrides,
    seed: required("seed", { min: 0, max: 999_999_999, fallback: 0 }, "Seed of the instance."),
    actions: text("actions", "LIST", "Actions separated by ||."),
    configName: presetsFile,
  },
  (words) => Effect.andThen(tagged("trace", words.tag), accept({ _tag: "Trace", ...words })),
);

const serveEnv = Cli.make(
  "serve-env",
  {
    tag: tagArgument,
    overrides,
    port: required(
      "port",
      { min: 0, max: 65_535, fallback: 8_000 },
      "Port for HTTP and WebSocket; 0 takes any free one.",
    ),
    host: text("host", "ADDRESS", "Address to listen on, 127.0.0.1 by default.").pipe(Flag.withDefault("127.0.0.1")),
    maxSessions: limit(
      "max-sessions",
      { min: 1, max: 1_000_000, fallback: 256 },
      "Episodes played at once at most, 256 by default.",
    ),
    idleSeconds: limit(
      "idle-seconds",
      { min: 1, max: 1_000_000, fallback: 900 },
      "A session without a message for so long is ended, 900 by default.",
    ),
    maxSteps: limit(
      "max-steps",
      { min: 1, max: 1_000_000_000, fallback: 10_000 },
      "Steps of one episode at most, 10000 by default.",
    ),
    maxMessageBytes: limit(
      "max-message-bytes",
      { min: 1_000, max: 2 ** 30, fallback: 2 ** 20 },
      "Longest message taken from a client, 1048576 by default.",
    ),
    maxConnections: optional(
      "max-connections",
      { min: 1, max: 2_000_000, fallback: leastConnections },
      "Connections at once at most; further ones are closed as they come. 256 more than sessions, and 1024 at least, by default.",
    ),
    maxBufferedBytes: optional(
      "max-buffered-bytes",
      { min: 1_000, max: 2 ** 36, fallback: leastBufferedBytes },
      "Most bytes of unfinished messages and unread answers of all clients together. Four messages, and 67108864 at least, by default.",
    ),
    requestSeconds: limit(
      "request-seconds",
      { min: 1, max: 3_600, fallback: 30 },
      "A request that has not arrived after so long is given up, 30 by default.",
    ),
    allowedHosts: formed(
      several("allow-host", "NAME", "A further name by which clients call this server; may be given again."),
      "allow-host",
      /^[A-Za-z0-9]([A-Za-z0-9._-]*[A-Za-z0-9])?$/,
      "a name without port",
    ),
    allowedOrigins: formed(
      several("allow-origin", "ORIGIN", "A web page's origin that may ask this server; may be given again."),
      "allow-origin",
      /^https?:\/\/[^\s/?#@,]+$/i,
      "an origin, as http://name:port",
    ),
    tokenFile: orNull(
      text("token-file", "FILE", "File with the token that clients must send; else MILLRACE_TOKEN, where it is set."),
    ),
    configName: presetsFile,
  },
  Effect.fnUntraced(function* ({ idleSeconds, requestSeconds, ...words }) {
    yield* tagged("serve-env", words.tag);
    const { maxMessageBytes, maxSessions } = words;
    const maxConnections = words.maxConnections ?? Math.max(leastConnections, maxSessions + 256);
    const maxBufferedBytes = words.maxBufferedBytes ?? Math.max(leastBufferedBytes, 4 * maxMessageBytes);
    if (maxBufferedBytes < maxMessageBytes) {
      const why = `less than one message (--max-message-bytes ${maxMessageBytes}); nearest: ${maxMessageBytes}`;
      return yield* bad(`serve-env: --max-buffered-bytes: ${maxBufferedBytes}: ${why}`);
    }
    const [idleMs, requestMs] = [1_000 * idleSeconds, 1_000 * requestSeconds];
    yield* accept({ _tag: "ServeEnv", ...words, maxConnections, maxBufferedBytes, idleMs, requestMs });
  }),
);

const help = Cli.make("help", { topic: Argument.variadic(Argument.String("topic")) }, ({ topic }) =>
  accept({ _tag: "Help", topic }),
);

const tree = root.pipe(Cli.withSubcommands([train, evaluate, sft, envs, trace, serveEnv, help]));

const shells = ["bash", "zsh", "fish"] as const;

const isShell = (name: string): name is (typeof shells)[number] => shells.some((shell) => shell === name);

const shellFlag = text("completions", "SHELL", `Print a completion script for ${shells.join(", ")}.`).pipe(
  Flag.mapEffect((name) => {
    if (isShell(name)) return Effect.succeed(name);
    const sorted = byNearest(name, shells);
    const expected = `one of ${sorted.join(", ")}; nearest: ${sorted[0]}`;
    return new CliError.InvalidValue({ option: "completions", value: name, expected, kind: "flag" });
  }),
);

const completions = (take: (command: Command) => void) =>
  GlobalFlag.Action({
    flag: shellFlag,
    run: (shell) =>
      Effect.sync(() => {
        const script = Completions.generate("millrace", shell, Completions.fromCommand(tree));
        take({ _tag: "Completions", script });
      }),
  });

const switches: ReadonlySet<string> = new Set(["--debug", "--help", "--version"]);

/**
 * Joins a value that begins with a dash, as in `--actions "-2 + 3"`, to its flag; the module would read it as short flags. `--other` and
 * `-h` after a flag mean that its value is missing.
 */
const withDashedValues = (words: readonly string[]): readonly string[] => {
  const joined: string[] = [];
  for (const word of words) {
    const flag = joined.at(-1);
    const dashed = /^-[^-]/.test(word) && word !== "-h" && word !== "-v";
    if (dashed && flag !== undefined && /^--[^=]+$/.test(flag) && !switches.has(flag)) {
      joined[joined.length - 1] = `${flag}=${word}`;
    } else joined.push(word);
  }
  return joined;
};

const unknown = (what: string, word: string, valid: readonly string[]) =>
  `${what} ${shown(word)}; nearest: ${byNearest(word, valid)[0]}; all: ${choices(word, valid, 20)}`;

/** Every flag of a command, the shared ones last. */
const flagsOf = ({ flags, globalFlags = [], inheritedFlags = [] }: HelpDoc): readonly FlagDoc[] => [
  ...flags,
  ...inheritedFlags,
  ...globalFlags,
];

/** Our message of what the module found wrong. `name` is the command, `doc` its help. */
const messageOf = (error: CliError.NonShowHelpErrors | undefined, name: string, doc: HelpDoc): string => {
  const names = Object.keys(commands);
  const said = (what: string) => (isCommandName(name) ? missing(name, what) : `${what} is missing`);
  switch (error?._tag) {
    case undefined:
      return `a command is missing; one of ${names.join(", ")}; \`millrace help\` explains them`;
    case "UnknownSubcommand":
      return unknown("unknown command", error.subcommand, names);
    case "UnrecognizedOption": {
      const flags = flagsOf(doc).map((flag) => `--${flag.name}`);
      return unknown(`${name}: unknown flag`, error.option, flags);
    }
    case "MissingOption":
      return said(`--${error.option}`);
    case "MissingArgument":
      return said(error.argument);
    case "InvalidValue": {
      const times = /^(\d+) occurrences$/.exec(error.value)?.[1];
      if (times !== undefined) return `${name}: --${error.option}: given ${times} times, expected once`;
      if (error.value !== "") {
        return `${name}: --${error.option}: ${shown(error.value)}: expected ${error.expected}`;
      }
      const placeholder = flagsOf(doc).find((flag) => flag.name === error.option)?.type ?? "VALUE";
      return `${name}: --${error.option} needs a value: --${error.option} ${placeholder}`;
    }
    default:
      return `${name}: ${error?.message}`;
  }
};

/** Runs the module over the words: the command that took them, if one did, and the help document that the module would have printed. */
const read = (words: readonly string[]) => {
  let invocation: Invocation | null = null;
  let doc: HelpDoc | null = null;
  const take = (command: Command, debug = false) => {
    invocation ??= { command, debug };
  };
  const presenter: CliOutput.Presenter = {
    present: (event) =>
      Effect.sync(() => {
        if (event._tag === "Version") return take({ _tag: "Version" });
        doc = event.helpDoc;
        if (event._tag === "Help" && event.reason === "Requested") {
          take({ _tag: "Help", topic: event.commandPath.slice(1) });
        }
      }),
  };
  const command = tree.pipe(Cli.withGlobalFlags([completions(take)]));
  return Cli.runWith(command, { version: "", renderErrors: false })(withDashedValues(words)).pipe(
    Effect.provideService(Accept, take),
    Effect.provideService(CliOutput.Presenter, presenter),
    Effect.provideService(CliConfig.CliConfig, { builtIns: [GlobalFlag.Help, GlobalFlag.Version] }),
    Effect.provide(NodeServices.layer),
    Effect.mapError((error) => {
      if (error instanceof BadInput) return error;
      if (error._tag !== "ShowHelp" || doc === null) return bad(error.message);
      return bad(messageOf(error.errors[0], error.commandPath.at(-1) ?? "millrace", doc));
    }),
    Effect.map(() => ({ invocation, doc })),
  );
};

/** Words of a command line; a run file takes what is more. */
const mostWords = 10_000;

/** Reads the words after `millrace`. */
export const parse = (words: readonly string[]): Effect.Effect<Invocation, BadInput> =>
  words.length > mostWords
    ? bad(`${words.length} words: at most ${mostWords} are taken; write overrides to a run file`)
    : Effect.flatMap(read(words), ({ invocation }) =>
        invocation === null ? Effect.die(new Error(`no command took ${words.join(" ")}`)) : Effect.succeed(invocation),
      );

export interface FlagHelp {
  readonly name: string;
  /** Placeholder of the value; null for a switch. */
  readonly placeholder: string | null;
  readonly meaning: string;
}

/** The flags of a command, its own first. */
export const flagsHelp = (name: CommandName): Effect.Effect<readonly FlagHelp[], BadInput> =>
  Effect.map(read([name, "--help"]), ({ doc }) =>
    (doc === null ? [] : flagsOf(doc)).map(({ description, name, type }) => ({
      name,
      placeholder: type === "boolean" ? null : type,
      meaning: Option.getOrElse(description, () => ""),
    })),
  );
