/** The keys of a run's resolved configuration as texts, to compare runs. Pure. */
import { Result } from "effect";
import { isTree, leaves } from "../../../config/Tree.ts";
import { readYaml } from "../../../config/yamlText.ts";

export type Settings = Readonly<Record<string, string>>;

/** Keys that name the run itself, which the page shows by its name. */
const names: ReadonlySet<string> = new Set(["run.name", "run.dir"]);

export const settingsOf = (yaml: string): Settings => {
  const tree = Result.getOrElse(readYaml(yaml), () => null);
  if (!isTree(tree)) return {};
  return Object.fromEntries(
    leaves(tree)
      .map(({ path, value }) => [path.join("."), typeof value === "string" ? value : JSON.stringify(value)] as const)
      .filter(([key]) => !names.has(key)),
  );
};

/** For each run, the keys in which the runs differ; a key that a run lacks is absent. */
export const differingSettings = (runs: ReadonlyMap<string, Settings>): Readonly<Record<string, Settings>> => {
  const keys = new Set([...runs.values()].flatMap((settings) => Object.keys(settings)));
  const differ = [...keys].filter((key) => new Set([...runs.values()].map((settings) => settings[key])).size > 1);
  const chosen = (settings: Settings): Settings =>
    Object.fromEntries(differ.flatMap((key) => (settings[key] === undefined ? [] : [[key, settings[key]]])));
  return Object.fromEntries([...runs].map(([id, settings]) => [id, chosen(settings)]));
};
