/** Writes the outcomes of a run's validations, one line for each. */
import { succeeded, type Version } from "../../domain/Episode.ts";
import type { Group } from "../../domain/Group.ts";
import { appendLine, type RunFolder } from "./RunFolder.ts";

/** Appends the outcome of every episode in instance order, so that two validations can be paired. */
export const append = (
  { validations }: typeof RunFolder.Service,
  step: number,
  { groups, version }: { readonly version: Version; readonly groups: readonly Group[] },
) => {
  const success = groups.flatMap(({ episodes }) => episodes.map((episode) => (succeeded(episode) ? 1 : 0)));
  return appendLine(validations, { step, version, success });
};
