/**
 * Code that a run's folder names is run only where it is the user's: it lies in the project of the working directory, or the user says so. The
 * project is the folder of the nearest package.json; the home folder and the root of the disk are none. Invariant: nothing is loaded here.
 */
import { existsSync, realpathSync } from "node:fs";
import { homedir } from "node:os";
import { basename, dirname, join, parse, resolve, sep } from "node:path";
import { createInterface } from "node:readline/promises";
import { Effect, Result } from "effect";
import { locate } from "../src/config/compose.ts";
import { isModulePath } from "../src/config/modulePath.ts";
import { parseOverride } from "../src/config/overrides.ts";
import type { RunConfig } from "../src/config/RunConfig.ts";
import { listProblems, showText, showValue } from "../src/config/show.ts";
import { BadInput } from "../src/domain/Errors.ts";
import { CONFIG } from "../src/observe/record/RunFolders.ts";
import { packageRoot } from "../src/support/files/packageRoot.ts";
import { configDir } from "./paths.ts";

/** Code that a configuration names. */
export interface NamedCode {
  readonly key: string;
  /** As it is written. */
  readonly path: string;
}

/** Keys of an environment's own settings that name a program to start, with the usual programs, which are looked up on the path. */
const programs: Readonly<Record<string, string>> = { python: "python3", bubblewrap: "bwrap" };

type CodeSections = Pick<RunConfig, "actor" | "agent" | "algorithm" | "custom_envs">;

const namedModule = (key: string, path: string | null): readonly NamedCode[] => (path === null ? [] : [{ key, path }]);

/** Interpreters that run the script of a command's first word behind them. */
const interpreters = new Set(["python", "python3", "node"]);

/** The code of an agent's command: the scripts of an interpreter, else the program itself. */
const codeOfCommand = ([program = "", ...words]: readonly string[]): readonly NamedCode[] => {
  if (program === "") return [];
  const isScript = (word: string): boolean => !word.startsWith("-") && /[/\\]|\.\w+$/.test(word);
  const isPlain = interpreters.has(program) && isScript(words[0] ?? "");
  const paths = isPlain ? words.filter(isScript).map((word) => resolve(word)) : [program];
  return paths.map((path) => ({ key: "agent.command", path }));
};

/** Every module and every unusual program that a configuration names. */
export const codeOf = ({ actor, agent, algorithm, custom_envs }: CodeSections): readonly NamedCode[] => [
  ...namedModule("agent.path", agent.path === "" ? null : agent.path),
  ...codeOfCommand(agent.command),
  ...namedModule("algorithm.custom_estimator", algorithm.custom_estimator),
  ...namedModule("actor.custom_loss", actor.custom_loss),
  ...Object.entries(custom_envs).flatMap(([tag, { env_config, env_type }]) => [
    ...(isModulePath(env_type) ? [{ key: `custom_envs.${tag}.env_type`, path: env_type }] : []),
    ...Object.entries(programs).flatMap(([key, usual]) => {
      const path = Object.hasOwn(env_config, key) ? env_config[key] : usual;
      return typeof path === "string" && path !== usual ? [{ key: `custom_envs.${tag}.env_config.${key}`, path }] : [];
    }),
  ]),
];

/** The path with its links resolved; the path itself if nothing exists there. */
const resolveLinks = (path: string): string => {
  try {
    return realpathSync(resolve(path));
  } catch {
    return resolve(path);
  }
};

const isWithin = (path: string, folder: string): boolean =>
  path === folder || path.startsWith(folder.endsWith(sep) ? folder : folder + sep);

/** The project that a folder lies in; null where it lies in none. */
export const projectOf = (folder: string): string | null => {
  const none = [parse(folder).root, resolveLinks(homedir())];
  for (let at = resolveLinks(folder); !none.includes(at); at = dirname(at)) {
    if (existsSync(join(at, "package.json"))) return at;
  }
  return null;
};

/**
 * The code of a configuration that is not the user's. A run's folder may have been put into the project with its code: what lies in it, or beside
 * it under the run's name, came with it.
 */
export const foreignCode = (config: CodeSections, run: string, from: string): readonly NamedCode[] => {
  const project = projectOf(from);
  const ours = [resolveLinks(packageRoot), ...(project === null ? [] : [project])];
  const folder = resolveLinks(run);
  const brought = [folder, dirname(folder)].filter((each) => !ours.some((place) => isWithin(place, each)));
  return codeOf(config).filter(({ path }) => {
    // A name that is looked up on the path may be any program of the machine.
    if (!/[/\\]/.test(path)) return true;
    const at = resolveLinks(path);
    return brought.some((each) => isWithin(at, each)) || !ours.some((place) => isWithin(at, place));
  });
};

/** True if overrides set the key: the user has then named the code and trusts it. */
export const isOverridden = (key: string, overrides: readonly string[]): boolean =>
  overrides.some((text) => {
    const parsed = parseOverride(text);
    const set = Result.isSuccess(parsed) ? parsed.success.path.join(".") : "";
    return set !== "" && (key === set || key.startsWith(`${set}.`));
  });

/** Asks on the terminal; null where there is none to ask on. */
export type Ask = (question: string) => Promise<boolean> | null;

const askTerminal: Ask = (question) => {
  if (!(process.stdin.isTTY && process.stderr.isTTY)) return null;
  const terminal = createInterface({ input: process.stdin, output: process.stderr });
  const answer = terminal.question(question).finally(() => terminal.close());
  // Ctrl-C is no.
  return answer.then(
    (text) => /^y(es)?$/i.test(text.trim()),
    () => false,
  );
};

export interface Origin {
  /** The folder of the run whose config.yaml it is. */
  readonly run: string;
  readonly overrides: readonly string[];
}

/** The refusal of code that a run's folder names; `remedy` says how to run it all the same. */
export const foreignCodeError = (run: string, named: readonly NamedCode[], remedy: string): BadInput => {
  const all = named.map(({ key, path }) => `${showText(key, 200)} ${showValue(path)}`).slice(0, 3);
  const more = named.length > all.length ? ` and ${named.length - all.length} more` : "";
  return new BadInput({
    message: `${join(run, CONFIG)} names code outside your project: ${all.join(", ")}${more}; ${remedy}`,
  });
};

/** Fails with BadInput where a run's folder names code that is not the user's and that the user does not let run. */
export const checkTrusted = (
  config: RunConfig,
  { overrides, run }: Origin,
  ask: Ask = askTerminal,
): Effect.Effect<void, BadInput> =>
  Effect.gen(function* () {
    const foreign = foreignCode(config, run, process.cwd());
    const named = foreign.filter(({ key }) => !isOverridden(key, overrides));
    if (named.length === 0) return;
    const lines = listProblems(named.map(({ key, path }) => `${showText(key, 200)}: ${showValue(path)}`));
    const question = `${join(run, CONFIG)} names code outside your project, which runs with your rights:\n${lines}\nRun it? [y/N] `;
    const answer = ask(question);
    if (answer !== null && (yield* Effect.promise(() => answer))) return;
    return yield* foreignCodeError(run, named, "--trust runs it");
  });

/** The folder of the run whose config.yaml a name of a run file stands for; null of any other run file. */
export const runOf = (configName: string): Effect.Effect<string | null> =>
  Effect.match(locate(configName, configDir), {
    onFailure: () => null,
    onSuccess: (file) => {
      const folder = dirname(resolve(file));
      const leaves = ["checkpoints", "evaluation.json", "events.jsonl"];
      return basename(file) === CONFIG && leaves.some((name) => existsSync(join(folder, name))) ? folder : null;
    },
  });
