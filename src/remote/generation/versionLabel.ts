/** Labels of a run's versions at servers, which report them with sampled tokens. No two runs share a label. */
import type { Version } from "../../domain/Episode.ts";

/** "millrace-4f1c-v12" */
export const versionLabel = (run: string, version: Version): string => `${run}-v${version}`;

/** The version that a label stands for; undefined if it is not of this run. */
export const parseLabel = (run: string, label: string): Version | undefined => {
  if (!label.startsWith(`${run}-v`)) return undefined;
  const digits = label.slice(run.length + 2);
  return /^\d{1,15}$/.test(digits) ? Number(digits) : undefined;
};
