/** The names of a run's versions at servers, which they keep beside tokens that a version sampled. No two runs share a name. */
import type { Version } from "../../domain/Episode.ts";

/** "millrace-4f1c-v12" */
export const labelOf = (run: string, version: Version): string => `${run}-v${version}`;

/** The version that a name stands for; undefined where it is not one of this run. */
export const versionIn = (run: string, label: string): Version | undefined => {
  if (!label.startsWith(`${run}-v`)) return undefined;
  const digits = label.slice(run.length + 2);
  return /^\d{1,15}$/.test(digits) ? Number(digits) : undefined;
};
