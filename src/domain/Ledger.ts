/**
 * The balance of a run, in groups and in tokens. Invariant, checked at every step: admitted = trained + filtered + failed + dropped + in
 * flight. Groups in flight are held by id, not derived from the other counts, so a group that ends twice or was never admitted shows as a
 * violation.
 */
import { HashMap, Option, Result, Schema } from "effect";
import { Count } from "./Count.ts";
import type { Event } from "./Event.ts";
import type { Metric } from "./metrics/Metric.ts";
import { type Metrics, metricsFrom } from "./metrics/Metrics.ts";
import { ledger as catalogue } from "./metrics/run.ts";

export const Counts = Schema.Struct({
  admitted: Count,
  trained: Count,
  /** Left out by the filter. */
  filtered: Count,
  /** Could not be played to an end. */
  failed: Count,
  /** Played and not used: the update was skipped, or the run stopped first. */
  dropped: Count,
});
export type Counts = typeof Counts.Type;

export const Ledger = Schema.Struct({
  groups: Counts,
  /** Tokens are counted when their group finishes (or is dropped): before that their number is not known. */
  tokens: Counts,
  /** Tokens of each group in flight; 0 until it has finished playing. */
  inFlight: Schema.HashMap(Count, Count),
});
export type Ledger = typeof Ledger.Type;

/** Groups or tokens are missing from the balance, or counted twice. */
export class LedgerViolation extends Schema.TaggedError<LedgerViolation>()("LedgerViolation", {
  unit: Schema.Literals(["groups", "tokens"]),
  admitted: Schema.Finite,
  accounted: Schema.Finite,
  message: Schema.String,
}) {}

const none: Counts = { admitted: 0, trained: 0, filtered: 0, failed: 0, dropped: 0 };
export const empty: Ledger = { groups: none, tokens: none, inFlight: HashMap.empty() };

type End = Exclude<keyof Counts, "admitted">;

const tokensOf = (ledger: Ledger, group: number): number =>
  Option.getOrElse(HashMap.get(ledger.inFlight, group), () => 0);

/** Counts one group's end; `tokens` are its tokens if `Finished` has not counted them. */
const close = (ledger: Ledger, group: number, end: End, tokens = 0): Ledger => ({
  groups: { ...ledger.groups, [end]: ledger.groups[end] + 1 },
  tokens: {
    ...ledger.tokens,
    admitted: ledger.tokens.admitted + tokens,
    [end]: ledger.tokens[end] + tokensOf(ledger, group) + tokens,
  },
  inFlight: HashMap.remove(ledger.inFlight, group),
});

const closeAll = (ledger: Ledger, groups: readonly number[], end: End): Ledger =>
  groups.reduce((sum, group) => close(sum, group, end), ledger);

/** The balance after one event. */
export const observe = (ledger: Ledger, event: Event): Ledger => {
  switch (event._tag) {
    case "Admitted":
      return {
        ...ledger,
        groups: { ...ledger.groups, admitted: ledger.groups.admitted + 1 },
        inFlight: HashMap.set(ledger.inFlight, event.group, 0),
      };
    case "Finished":
      return event.failed
        ? close(ledger, event.group, "failed", event.tokens)
        : {
            ...ledger,
            tokens: { ...ledger.tokens, admitted: ledger.tokens.admitted + event.tokens },
            inFlight: HashMap.modify(ledger.inFlight, event.group, (tokens) => tokens + event.tokens),
          };
    case "Verdict":
      return closeAll(ledger, event.filtered, "filtered");
    case "Updated":
      return closeAll(ledger, event.groups, "trained");
    case "UpdateSkipped":
      return closeAll(ledger, event.groups, "dropped");
    case "Dropped":
      // A finished group's tokens are counted already; a running one's are counted now.
      return event.groups.reduce(
        (sum, { group, tokens }) => close(sum, group, "dropped", tokens - tokensOf(sum, group)),
        ledger,
      );
    default:
      return ledger;
  }
};

/** Groups and tokens in flight. */
export const inFlight = (ledger: Ledger): { readonly groups: number; readonly tokens: number } => ({
  groups: HashMap.size(ledger.inFlight),
  tokens: HashMap.reduce(ledger.inFlight, 0, (sum, tokens) => sum + tokens),
});

const ends = (counts: Counts): number => counts.trained + counts.filtered + counts.failed + counts.dropped;

/** Succeeds with the ledger if it balances in groups and in tokens. */
export const checkBalance = (ledger: Ledger): Result.Result<Ledger, LedgerViolation> => {
  const open = inFlight(ledger);
  for (const unit of ["groups", "tokens"] as const) {
    const { admitted } = ledger[unit];
    const accounted = ends(ledger[unit]) + open[unit];
    if (admitted !== accounted) {
      const message = `The ledger's ${unit} do not balance: ${admitted} admitted, ${accounted} accounted for (${open[unit]} in flight).`;
      return Result.fail(new LedgerViolation({ unit, admitted, accounted, message }));
    }
  }
  return Result.succeed(ledger);
};

/** The balance as metrics. */
export const metrics = (ledger: Ledger): Metrics => {
  const open = inFlight(ledger);
  const balance = (entries: Readonly<Record<keyof typeof catalogue.groups, Metric>>, counts: Counts, left: number) => [
    [entries.admitted, counts.admitted] as const,
    [entries.trained, counts.trained] as const,
    [entries.filtered, counts.filtered] as const,
    [entries.failed, counts.failed] as const,
    [entries.dropped, counts.dropped] as const,
    [entries.inFlight, left] as const,
  ];
  return metricsFrom(
    ...balance(catalogue.groups, ledger.groups, open.groups),
    ...balance(catalogue.tokens, ledger.tokens, open.tokens),
  );
};
