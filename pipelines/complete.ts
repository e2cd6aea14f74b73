/**
 * Lists the words that a shell may offer behind `millrace`: commands, flags, run files, sweeps, presets, keys with
 * their values, stages, and the runs on this disk. Invariant: it reads names of files and this package's own tables,
 * and loads nothing that a run file names.
 */
import { readdirSync } from "node:fs";
import { dirname, join } from "node:path";
import { Effect } from "effect";
import { layersOf, locate, runFileNames, runNames } from "../src/config/compose.ts";
import { expectation, keyInfos, schemaAt } from "../src/config/describe.ts";
import { RunConfig } from "../src/config/RunConfig.ts";
import { get } from "../src/config/Tree.ts";
import { runsBelow } from "../src/observe/record/RunFolders.ts";
import { type FlagHelp, flagsHelp } from "./arguments.ts";
import { infos } from "./commands/all.ts";
import type { CommandInfo } from "./commands/Command.ts";
import type { StageName } from "./main.ts";
import { configDir } from "./paths.ts";

/** Names of runs below `runs`, and below the folder that a word has come to. */
const runCandidates = (word: string): readonly string[] => {
  const root = word.includes("/") ? word.slice(0, word.indexOf("/")) : "runs";
  const folders = runsBelow(root);
  return [...new Set([...folders.map(dirname), ...folders])].map((folder) => folder.replaceAll("\\", "/"));
};

/** Run files by name, and those in the folder that a word has come to. */
const fileCandidates = (word: string): readonly string[] => {
  const folder = dirname(word);
  let beside: readonly string[] = [];
  try {
    beside = readdirSync(folder).filter((name) => /\.ya?ml$/.test(name));
  } catch {
    // A folder that cannot be read has no files to offer.
  }
  const ragen = runFileNames(join(configDir, "ragen")).map((name) => `ragen/${name}`);
  return [...runNames(configDir), ...ragen, ...beside.map((name) => join(folder, name))];
};

/** Presets of the run file that the words name, or of the package. */
const presetsOf = Effect.fnUntraced(function* (words: readonly string[]) {
  const flag = words.indexOf("--config-name");
  const named = words.find((word) => word.startsWith("--config-name="))?.slice("--config-name=".length);
  const name = named ?? (flag < 0 ? undefined : words[flag + 1]) ?? "base";
  const layers = yield* Effect.flatMap(locate(name, configDir), (file) => layersOf(file, configDir)).pipe(
    Effect.orElseSucceed(() => []),
  );
  return [...new Set(layers.flatMap(({ tree }) => Object.keys(get(tree, ["custom_envs"]) ?? {})))];
});

const allKeys = (): readonly string[] => keyInfos(RunConfig).map(({ key }) => key);

/** Keys of a run file, a level at a time: sections first, then the keys of a section. */
const keyCandidates = (word: string): readonly string[] => {
  const found = allKeys().filter((key) => key.startsWith(word));
  if (!word.includes(".")) return [...new Set(found.map((key) => (key.includes(".") ? `${key.split(".")[0]}.` : key)))];
  return found.map((key) => `${key}=`);
};

/** Values of a key: its choices, and runs where it names a model. */
const valueCandidates = Effect.fnUntraced(function* (key: string, value: string, words: readonly string[]) {
  if (/(^|\.)(model\.(path|adapter)|sft\.init)$/.test(key)) return runCandidates(value);
  if (/^es_manager\.(train|val)\.tags$/.test(key)) return (yield* presetsOf(words)).map((tag) => `[${tag}]`);
  const schema = schemaAt(RunConfig.ast, key.split("."));
  if (schema === null) return [];
  const { choices, text } = expectation(schema);
  return choices ?? (/true or false/.test(text) ? ["true", "false"] : []);
});

const overrideCandidates = (word: string, words: readonly string[]) => {
  const equals = word.indexOf("=");
  if (equals < 0) return Effect.succeed(keyCandidates(word));
  const [key, value] = [word.slice(0, equals), word.slice(equals + 1)];
  return Effect.map(valueCandidates(key, value, words), (values) => values.map((each) => `${key}=${each}`));
};

const stages = Object.keys({
  rollout: true,
  window: true,
  score: true,
  filter: true,
  learn: true,
  close: true,
  generate: true,
  step: true,
} satisfies Readonly<Record<StageName, true>>);
const controls = ["concurrency", "pause", "resume", "validate", "checkpoint", "stop"];

const flagValues = (flag: string, word: string): readonly string[] | null => {
  if (flag === "--config-name" || flag === "--envs") return fileCandidates(word);
  return flag === "--resume" ? runCandidates(word) : null;
};

/** Candidates for a positional argument of a command. */
const argumentsOf = Effect.fnUntraced(function* (
  { name, usage }: CommandInfo,
  before: readonly string[],
  word: string,
  flags: readonly FlagHelp[],
) {
  const takesValue = new Set(flags.flatMap(({ name, placeholder }) => (placeholder === null ? [] : [`--${name}`])));
  // The shell offers values of flags, because most of them name files.
  if (takesValue.has(before.at(-1) ?? "")) return [];
  const given = before.filter((each, i) => !each.startsWith("-") && !takesValue.has(before[i - 1] ?? ""));
  if (name === "control") {
    if (given.length === 0) return runCandidates(word);
    return given.length === 1 ? controls : given.at(-1) === "concurrency" ? stages : [];
  }
  if (name === "help") return given[0] === "config" ? keyCandidates("") : [...infos.keys(), "config"];
  if (name === "sweep" && given.length === 0) return runFileNames(join(configDir, "sweeps"));
  if (/^[\w-]+ (RUN|DIR|ADAPTER|MODEL)\b|\[DIR/.test(usage)) return [...runCandidates(word), "runs"];
  if (/ TAG /.test(usage) && given.length === 0) return yield* presetsOf(before);
  return usage.includes("key.sub=value") ? yield* overrideCandidates(word, before) : [];
});

/** The candidates for the last of the words, which begin with it. */
export const complete = Effect.fnUntraced(function* (words: readonly string[]) {
  const word = words.at(-1) ?? "";
  const before = words.slice(0, -1);
  const beginning = (candidates: readonly string[]) => [...new Set(candidates)].filter((each) => each.startsWith(word));
  const [name, ...rest] = before;
  if (name === undefined) return beginning([...infos.keys(), "--completions", "--version", "--help"]);
  if (name === "--completions") return beginning(["bash", "zsh", "fish"]);
  const info = infos.get(name);
  if (info === undefined) return [];
  const [, flag, value] = /^(--[\w-]+)=(.*)$/.exec(word) ?? [];
  const behind = flag === undefined ? flagValues(rest.at(-1) ?? "", word) : null;
  if (behind !== null) return beginning(behind);
  if (flag !== undefined) return beginning((flagValues(flag, value ?? "") ?? []).map((each) => `${flag}=${each}`));
  const flags = yield* Effect.orElseSucceed(flagsHelp(name), () => []);
  if (word.startsWith("-")) return beginning(flags.map((each) => `--${each.name}`));
  return beginning(yield* argumentsOf(info, rest, word, flags));
});
