/**
 * Records which weights version filled which positions of a sequence's cache. Together with the ids, a list of fills determines the bits of
 * the cache: those of a position depend on its version, its chunk or step, and the positions before it at that time.
 */
import type { CacheFill } from "../domain/Episode.ts";
import type { Prefix } from "./StepPlan.ts";

/** Returns the fills with one more. Neighbouring steps of one version join into one fill. */
export const addFill = (fills: readonly CacheFill[], fill: CacheFill): readonly CacheFill[] => {
  const last = fills.at(-1);
  const isStep = fill.form === "step" && last?.form === "step";
  if (!isStep || last.version !== fill.version || last.to !== fill.from) return [...fills, fill];
  return [...fills.slice(0, -1), { ...last, to: fill.to }];
};

/** Returns what is left of the fills when positions from `length` on are forgotten. */
export const truncateFills = (fills: readonly CacheFill[], length: number): readonly CacheFill[] =>
  fills.every(({ to }) => to <= length)
    ? fills
    : fills.filter(({ from }) => from < length).map((fill) => ({ ...fill, to: Math.min(fill.to, length) }));

/** Returns the chunks in which a shared prefix is fed. A sequence that fed them itself would have the same bits. */
export const prefixFills = (
  { length, version }: Pick<Prefix, "length" | "version">,
  prefillTokens: number,
): readonly CacheFill[] =>
  Array.from({ length: Math.ceil(length / prefillTokens) }, (_, index) => {
    const from = index * prefillTokens;
    return { form: "chunk", from, to: Math.min(from + prefillTokens, length), version };
  });
