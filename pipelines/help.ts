/**
 * `millrace help`: lists the commands, the flags of one command, or the keys of a run file, as lines of text. An unknown topic is bad
 * input.
 */
import { Effect } from "effect";
import { keys } from "../src/config/describe.ts";
import { byNearest, choices } from "../src/config/nearest.ts";
import { RunConfig } from "../src/config/RunConfig.ts";
import { shown } from "../src/config/shown.ts";
import { BadInput } from "../src/domain/Errors.ts";
import { flagsHelp } from "./arguments.ts";
import { type CommandName, commands, isCommandName } from "./commands.ts";
import { table } from "./table.ts";

const overview = (): readonly string[] => [
  "Usage: millrace COMMAND ...",
  "",
  ...table(Object.values(commands).map(({ meaning, usage }) => [`  ${usage}`, meaning])),
  "",
  "Overrides are key.sub=value with YAML values; RAGEN's key paths are accepted.",
  "`millrace --completions bash` prints a completion script; zsh and fish have theirs.",
];

const ofCommand = Effect.fnUntraced(function* (name: CommandName) {
  const { meaning, usage } = commands[name];
  const rows = (yield* flagsHelp(name)).map(({ meaning, name, placeholder }) => [
    `  --${name}${placeholder === null ? "" : ` ${placeholder}`}`,
    meaning,
  ]);
  return [`Usage: millrace ${usage}`, "", meaning, "", ...table(rows)];
});

const unknown = (word: string, valid: readonly string[]) =>
  new BadInput({
    message: `help: nothing about ${shown(word)}; nearest: ${byNearest(word, valid)[0]}; all: ${choices(word, valid, 40)}`,
  });

/** Sections of a run file. */
const sections = (): readonly string[] => [...new Set(keys(RunConfig).map(({ key }) => key.split(".", 1).join("")))];

const ofConfig = (section: string | undefined) => {
  const all = keys(RunConfig);
  const chosen = all.filter(({ key }) => section === undefined || key === section || key.startsWith(`${section}.`));
  if (section !== undefined && chosen.length === 0) return Effect.fail(unknown(section, sections()));
  const rows = chosen.map(({ default: value, description, expected, key }) => [
    key,
    value,
    `${description} (${expected})`,
  ]);
  return Effect.succeed(table([["KEY", "DEFAULT", "MEANING"], ...rows]));
};

export const help = (topic: readonly string[]): Effect.Effect<readonly string[], BadInput> => {
  const [name, section] = topic;
  if (name === undefined) return Effect.succeed(overview());
  if (name === "config" && section === undefined) {
    return Effect.map(Effect.all([ofCommand("config"), ofConfig(undefined)]), ([command, keys]) => [
      ...command,
      "",
      ...keys,
    ]);
  }
  if (name === "config") return ofConfig(section);
  if (isCommandName(name)) return ofCommand(name);
  if (sections().includes(name)) return ofConfig(name);
  return Effect.fail(unknown(name, [...Object.keys(commands), "config"]));
};
