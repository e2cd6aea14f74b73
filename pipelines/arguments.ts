/**
 * The command line. Words go in; one request comes out, or bad input that names the word and the nearest valid one. This file, flags.ts,
 * argumentMessages.ts and commands/ are the only ones that know `effect/cli`.
 * Invariant: nothing is read, loaded or started here.
 */
import * as NodeServices from "@effect/platform-node/NodeServices";
import { Context, Effect, Option } from "effect";
import * as Argument from "effect/cli/Argument";
import * as CliConfig from "effect/cli/CliConfig";
import * as CliError from "effect/cli/CliError";
import * as CliOutput from "effect/cli/CliOutput";
import * as Cli from "effect/cli/Command";
import * as Flag from "effect/cli/Flag";
import * as GlobalFlag from "effect/cli/GlobalFlag";
import type { HelpDoc } from "effect/cli/HelpDoc";
import { BadInput } from "../src/domain/Errors.ts";
import { byNearest } from "../src/support/text/nearest.ts";
import { flagsOf, messageOf } from "./argumentMessages.ts";
import { loadNamed } from "./commands/all.ts";
import { Accept, root, type Switches, type Task } from "./commands/Command.ts";
import { bad } from "./commands/words.ts";
import { completionScripts } from "./completionScripts.ts";
import { text } from "./flags.ts";

export type Request =
  | ({ readonly _tag: "Task" } & Task)
  | { readonly _tag: "Help"; readonly topic: readonly string[] }
  | { readonly _tag: "Version" }
  | { readonly _tag: "Completions"; readonly script: string }
  /** Asked by a shell: the words behind `millrace` so far, the last of them unfinished. */
  | { readonly _tag: "Complete"; readonly words: readonly string[] };

export interface Invocation {
  readonly request: Request;
  readonly switches: Switches;
}

/** Takes the topic of `millrace help`. */
class Explain extends Context.Service<Explain, (topic: readonly string[]) => void>()("millrace/cli/Explain") {}

const help = Cli.make(
  "help",
  { topic: Argument.variadic(Argument.String("topic")) },
  Effect.fnUntraced(function* ({ topic }) {
    (yield* Explain)(topic);
  }),
);

/** The root with the command that the words name: its parse needs no other, and messages name them all without loading them. */
const treeOf = (words: readonly string[]) =>
  Effect.map(
    Effect.promise(() => loadNamed(words)),
    (named) => root.pipe(Cli.withSubcommands(named === null ? [help] : [named, help])),
  );

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

const completions = (take: (request: Request) => void) =>
  GlobalFlag.Action({
    flag: shellFlag,
    run: (shell) =>
      Effect.sync(() => {
        take({ _tag: "Completions", script: completionScripts[shell] });
      }),
  });

const switches: ReadonlySet<string> = new Set([
  "--debug",
  "--help",
  "--json",
  "--no-probe",
  "--stay",
  "--trust",
  "--version",
]);

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

/** Gives `--watch` without a port the word that stands for it: the module knows no flag whose value may be missing. */
const withUsualPort = (words: readonly string[]): readonly string[] => {
  const end = words.indexOf("--");
  return words.map((word, i) => {
    const hasPort = /^[^-=]+$/.test(words[i + 1] ?? "");
    return word === "--watch" && !hasPort && (end < 0 || i < end) ? "--watch=near" : word;
  });
};

const none: Switches = { debug: false, trust: false };

/** Runs the module over the words: the command that took them, if one did, and the help document that the module would have printed. */
const read = Effect.fnUntraced(function* (words: readonly string[]) {
  let invocation: Invocation | null = null;
  let doc: HelpDoc | null = null;
  const take = (request: Request, switches: Switches = none) => {
    invocation ??= { request, switches };
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
  const command = (yield* treeOf(words)).pipe(Cli.withGlobalFlags([completions(take)]));
  return yield* Cli.runWith(command, { version: "", renderErrors: false })(withDashedValues(withUsualPort(words))).pipe(
    Effect.provideService(Accept, (task, switches) => take({ _tag: "Task", ...task }, switches)),
    Effect.provideService(Explain, (topic) => take({ _tag: "Help", topic })),
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
});

/** Words of a command line; a run file takes what is more. */
const mostWords = 10_000;

/** Reads the words after `millrace`. */
export const parse = (words: readonly string[]): Effect.Effect<Invocation, BadInput> =>
  // The scripts of `--completions` call the hidden command `complete`, whose words form no valid command line yet.
  words[0] === "complete"
    ? Effect.succeed({ request: { _tag: "Complete", words: words.slice(1) }, switches: none })
    : parseWhole(words.length === 0 ? ["help"] : words);

const parseWhole = (words: readonly string[]): Effect.Effect<Invocation, BadInput> =>
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
export const flagsHelp = (name: string): Effect.Effect<readonly FlagHelp[], BadInput> =>
  Effect.map(read([name, "--help"]), ({ doc }) =>
    (doc === null ? [] : flagsOf(doc)).map(({ description, name, type }) => ({
      name,
      placeholder: type === "boolean" ? null : type,
      meaning: Option.getOrElse(description, () => ""),
    })),
  );
