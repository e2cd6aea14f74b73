/**
 * Each file of this folder declares one command of `millrace`: its flags and its work. `all.ts` has their names and help. Invariant: reading the
 * words of a command line loads that command's file alone; the work imports what it needs when it begins.
 */
import { Console, Context, Effect } from "effect";
import type * as CliError from "effect/cli/CliError";
import * as Cli from "effect/cli/Command";
import * as Flag from "effect/cli/Flag";
import type { BadInput } from "../../src/domain/Errors.ts";
import type { Stop } from "../../src/support/process/Stop.ts";

export interface CommandInfo {
  readonly name: string;
  readonly usage: string;
  readonly meaning: string;
}

/** A command with the words of one invocation. */
export interface Task {
  readonly name: string;
  /** Holds the parsed words under the names of the command's flags. */
  readonly words: unknown;
  /** The first signal lets such a task end in order, and interrupts any other, which has nothing to lose. */
  readonly stopsInOrder: boolean;
  readonly work: Effect.Effect<unknown, unknown, Stop>;
}

/** Switches of every command. */
export interface Switches {
  /** Print stack traces of failures. */
  readonly debug: boolean;
  /** Code that a run's folder names may run, wherever it lies. */
  readonly trust: boolean;
}

/** Takes the task that a command line stands for; `parse` provides it. */
export class Accept extends Context.Service<Accept, (task: Task, switches: Switches) => void>()(
  "millrace/cli/Accept",
) {}

export const root = Cli.make("millrace").pipe(
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

interface WithFlags<Config extends Cli.Command.Config, Words> {
  readonly stopsInOrder?: boolean;
  readonly flags: Config;
  /** Turns flags into the command's words. Fails where they exclude each other or one is missing. */
  readonly read: (
    flags: Cli.Command.Config.Infer<Config>,
    info: CommandInfo,
  ) => Effect.Effect<Words, BadInput | CliError.CliError>;
  readonly work: (words: Words, info: CommandInfo) => Effect.Effect<unknown, unknown, Stop>;
}

/** A command whose flags are read together, under the name that `all.ts` has for it. */
export const commandOf =
  <const Config extends Cli.Command.Config, Words>({
    flags,
    read,
    stopsInOrder = false,
    work,
  }: WithFlags<Config, Words>) =>
  (info: CommandInfo) =>
    Cli.make(
      info.name,
      flags,
      Effect.fnUntraced(function* (given: Cli.Command.Config.Infer<Config>) {
        const words = yield* read(given, info);
        const { debug, trust } = yield* root;
        const task = { name: info.name, words, stopsInOrder, work: Effect.suspend(() => work(words, info)) };
        (yield* Accept)(task, { debug, trust });
      }),
    );

/** A command that takes what each flag says. */
export const command = <const Config extends Cli.Command.Config>(
  definition: Omit<WithFlags<Config, Cli.Command.Config.Infer<Config>>, "read">,
) => commandOf({ ...definition, read: (given) => Effect.succeed(given) });

/** Loads a module when a command needs it. */
export const load = <Module>(module: () => Promise<Module>): Effect.Effect<Module> => Effect.promise(module);

export const print = (lines: readonly string[]): Effect.Effect<void> =>
  Effect.forEach(lines, (line) => Console.log(line), { discard: true });
