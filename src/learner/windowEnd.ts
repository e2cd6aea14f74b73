/** The end of a window at the learner, as an event and as a span's attribute. */
import { sampledTokens, type TokenBatch } from "../domain/Batch.ts";
import type { Updated, UpdateSkipped } from "../domain/Event.ts";
import type { UpdateReport } from "./Learner.ts";
import { describeUntrained } from "./NonFinitePart.ts";

/** Returns the event that consumes the window. */
export const windowEnd = (
  { applied, checksum, untrained, version }: UpdateReport,
  window: number,
  groups: readonly number[],
  batch: TokenBatch,
): Updated | UpdateSkipped => {
  const notFinite = untrained === null ? undefined : describeUntrained(untrained);
  const fields = { window, groups, ...(notFinite === undefined ? {} : { notFinite }) };
  if (applied) {
    const checked = checksum === undefined ? {} : { checksum };
    return { _tag: "Updated", ...fields, version, tokens: sampledTokens(batch), ...checked };
  }
  return {
    _tag: "UpdateSkipped",
    ...fields,
    reason: notFinite === undefined ? "no step was taken" : `not finite: ${notFinite}`,
  };
};

/** Returns the attribute of the update's span. */
export const madeVersion = ({ applied, version }: UpdateReport): { readonly version?: number } =>
  applied ? { version } : {};
