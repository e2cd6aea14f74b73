/**
 * `millrace help`: lists the commands, the flags of one command, or the keys of a run file, as lines of text. An unknown topic is bad
 * input.
 */
import { Effect } from "effect";
import { keyInfos } from "../src/config/describe.ts";
import { RunConfig } from "../src/config/RunConfig.ts";
import { showValue } from "../src/config/show.ts";
import { BadInput } from "../src/domain/Errors.ts";
import { byNearest, choices } from "../src/support/text/nearest.ts";
import { flagsHelp } from "./arguments.ts";
import { infos } from "./commands/all.ts";
import type { CommandInfo } from "./commands/Command.ts";
import { explanations, leastMeaning, overview } from "./overview.ts";
import { table, wrapped } from "./table.ts";

const commandHelp = Effect.fnUntraced(function* ({ meaning, name, usage }: CommandInfo, width: number) {
  const rows = (yield* flagsHelp(name)).map(
    ({ meaning, name, placeholder }) =>
      [`  --${name}${placeholder === null ? "" : ` ${placeholder}`}`, meaning] as const,
  );
  return [
    ...wrapped(`Usage: millrace ${usage}`, width),
    "",
    ...wrapped(meaning, width),
    "",
    ...explanations(rows, width),
  ];
});

const unknown = (word: string, valid: readonly string[]) =>
  new BadInput({
    message: `help: nothing about ${showValue(word)}; nearest: ${byNearest(word, valid)[0]}; all: ${choices(word, valid, 40)}`,
  });

/** Sections of a run file. */
const sections = (): readonly string[] => [
  ...new Set(keyInfos(RunConfig).map(({ key }) => key.split(".", 1).join(""))),
];

/** Widest column of keys or defaults. */
const widestCell = 44;

const configHelp = (section: string | undefined, width: number) => {
  const all = keyInfos(RunConfig);
  const chosen = all.filter(({ key }) => section === undefined || key === section || key.startsWith(`${section}.`));
  if (section !== undefined && chosen.length === 0) return Effect.fail(unknown(section, sections()));
  const rows = chosen.map(({ default: value, description, expected, key }) => ({
    key,
    value,
    meaning: `${description} (${expected})`,
  }));
  const head = { key: "KEY", value: "DEFAULT", meaning: "MEANING" };
  const widthOf = (cells: readonly string[]) => Math.min(widestCell, Math.max(...cells.map(({ length }) => length)));
  const left = width - widthOf(rows.map(({ key }) => key)) - widthOf(rows.map(({ value }) => value)) - 4;
  if (left >= leastMeaning) {
    const cells = [head, ...rows].map(({ key, meaning, value }) => [key, value, meaning]);
    return Effect.succeed(table(cells, { width, widest: Number.isFinite(width) ? widestCell : width }));
  }
  return Effect.succeed(
    explanations(
      rows.map(({ key, meaning, value }) => [`${key}  ${value}`, meaning] as const),
      width,
    ),
  );
};

/** `width` is that of the terminal; without one no line is cut. */
export const help = (
  topic: readonly string[],
  width = process.stdout.columns ?? Number.POSITIVE_INFINITY,
): Effect.Effect<readonly string[], BadInput> => {
  const [name, section] = topic;
  if (name === undefined) return Effect.succeed(overview(width));
  const info = infos.get(name);
  if (name === "config" && info !== undefined && section === undefined) {
    return Effect.map(Effect.all([commandHelp(info, width), configHelp(undefined, width)]), ([command, keys]) => [
      ...command,
      "",
      ...keys,
    ]);
  }
  if (name === "config") return configHelp(section, width);
  if (info !== undefined) return commandHelp(info, width);
  if (sections().includes(name)) return configHelp(name, width);
  return Effect.fail(unknown(name, [...infos.keys(), "config"]));
};
