/**
 * `node bench/learning/mixed.ts EPISODES…` prints how often the groups of each tag were mixed: with a success and a failure, which alone teach by
 * comparison. It reads `episodes.jsonl` of `millrace evaluate` with `es_manager.val.group_size` of 2 or more. "Mixed by the mean" is what the task sampler
 * expects of the tag: as if each episode succeeded with the tag's mean success.
 */
import { readFileSync } from "node:fs";
import { mean } from "../../src/domain/Statistics.ts";
import { percent } from "./pairing.ts";

/** An episode, as a line has it. */
export interface PlayedEpisode {
  readonly tag: string;
  readonly group_id: number;
  readonly success: boolean;
}

/** The groups of a tag. */
export interface MixedGroups {
  readonly tag: string;
  readonly groups: number;
  /** Shares. */
  readonly success: number;
  readonly expected: number;
  readonly played: number;
}

/** The tags' groups, in the order in which the tags appear. */
export const mixedGroups = (episodes: readonly PlayedEpisode[]): readonly MixedGroups[] =>
  [...Map.groupBy(episodes, ({ tag }) => tag)].map(([tag, ofTag]) => {
    const groups = [...Map.groupBy(ofTag, ({ group_id }) => group_id).values()];
    const success = mean(ofTag.map((episode) => Number(episode.success)));
    const isMixed = (group: readonly PlayedEpisode[]) => new Set(group.map((episode) => episode.success)).size > 1;
    return {
      tag,
      groups: groups.length,
      success,
      expected: mean(groups.map(({ length }) => 1 - success ** length - (1 - success) ** length)),
      played: mean(groups.map((group) => Number(isMixed(group)))),
    };
  });

const episodesIn = (file: string): readonly PlayedEpisode[] =>
  readFileSync(file, "utf8")
    .split("\n")
    .filter((line) => line !== "")
    .map((line) => JSON.parse(line).metadata);

if (import.meta.main) {
  const files = process.argv.slice(2);
  if (files.length === 0) {
    console.error("name a file of episodes, e.g. runs/quickstart-evaluate/…/episodes.jsonl");
    process.exit(2);
  }
  console.log("| tag | groups | success % | mixed by the mean % | mixed as played % |\n|---|---|---|---|---|");
  for (const { expected, groups, played, success, tag } of mixedGroups(files.flatMap(episodesIn))) {
    console.log(`| ${tag} | ${groups} | ${percent(success)} | ${percent(expected)} | ${percent(played)} |`);
  }
}
