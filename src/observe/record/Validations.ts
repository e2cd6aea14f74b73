/** Writes the outcomes of a run's validations, one line for each. */
import { succeeded, type Version } from "../../domain/Episode.ts";
import type { Group } from "../../domain/Group.ts";
import { instanceDigest } from "../../domain/instanceDigest.ts";
import { appendLine, type RunFolder } from "./RunFolder.ts";

/**
 * Appends the outcome of every episode in the order of the seeds, so that two validations can be paired, and each seed's instance: seeds of one
 * content are one instance to an interval.
 */
export const append = (
  { validations }: typeof RunFolder.Service,
  step: number,
  { groups, version }: { readonly version: Version; readonly groups: readonly Group[] },
) => {
  const success = groups.flatMap(({ episodes }) => episodes.map((episode) => (succeeded(episode) ? 1 : 0)));
  const instances = groups.map(({ contentKey, prompt }) =>
    contentKey === undefined ? null : instanceDigest(prompt.tag, contentKey),
  );
  return appendLine(validations, { step, version, success, instances });
};
