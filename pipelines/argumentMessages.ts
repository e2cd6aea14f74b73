/** Our messages of what `effect/cli` finds wrong: each names the word and the nearest valid one. */
import type * as CliError from "effect/cli/CliError";
import type { FlagDoc, HelpDoc } from "effect/cli/HelpDoc";
import { showValue } from "../src/config/show.ts";
import { byNearest, choices } from "../src/support/text/nearest.ts";
import { infos } from "./commands/all.ts";
import { missing } from "./commands/words.ts";

const unknown = (what: string, word: string, valid: readonly string[]) =>
  `${what} ${showValue(word)}; nearest: ${byNearest(word, valid)[0]}; all: ${choices(word, valid, 20)}`;

/** Every flag of a command, the shared ones last. */
export const flagsOf = ({ flags, globalFlags = [], inheritedFlags = [] }: HelpDoc): readonly FlagDoc[] => [
  ...flags,
  ...inheritedFlags,
  ...globalFlags,
];

/** Our message of what the module found wrong. `name` is the command, `doc` its help. */
export const messageOf = (error: CliError.NonShowHelpErrors | undefined, name: string, doc: HelpDoc): string => {
  const names = [...infos.keys()];
  const info = infos.get(name);
  const said = (what: string) => (info === undefined ? `${what} is missing` : missing(info, what));
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
        return `${name}: --${error.option}: ${showValue(error.value)}: expected ${error.expected}`;
      }
      const placeholder = flagsOf(doc).find((flag) => flag.name === error.option)?.type ?? "VALUE";
      return `${name}: --${error.option} needs a value: --${error.option} ${placeholder}`;
    }
    default:
      return `${name}: ${error?.message}`;
  }
};
