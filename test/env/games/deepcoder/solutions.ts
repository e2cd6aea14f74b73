/** Reference solutions of the tasks that come with the package, as a model would write them: fenced code, by the task's name. */
import { readFileSync } from "node:fs";
import type { DeepCoderConfig } from "../../../../src/env/games/deepcoder/DeepCoderConfig.ts";

type Language = DeepCoderConfig["language"];

const read = (language: Language): ReadonlyMap<string, string> => {
  const text = readFileSync(new URL(`./solutions/${language}.md`, import.meta.url), "utf8");
  return new Map(
    text
      .split(/^## /m)
      .slice(1)
      .map((section) => {
        const end = section.indexOf("\n");
        return [section.slice(0, end).trim(), section.slice(end).trim()] as const;
      }),
  );
};

export const solutions: Readonly<Record<Language, ReadonlyMap<string, string>>> = {
  python: read("python"),
  javascript: read("javascript"),
};
