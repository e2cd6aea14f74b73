/** Checks a trace against the trace-event format, and against what is promised of it. Throws with what is wrong. */
import { deepEqual, equal, ok } from "node:assert/strict";

export interface TraceEntry {
  readonly ph: string;
  readonly name: string;
  readonly pid: number;
  readonly tid?: number;
  readonly ts?: number;
  readonly dur?: number;
  readonly id?: number;
  readonly bp?: string;
  readonly args?: Readonly<Record<string, unknown>>;
}

/** The entries of a file, whose closing bracket may be missing. */
export const entriesOf = (text: string): readonly TraceEntry[] =>
  JSON.parse(text.trimEnd().endsWith("]") ? text : `${text}]`);

const trackOf = ({ pid, tid }: TraceEntry): string => `${pid}/${tid}`;

/** Slack for times that are rounded to the nanosecond, microseconds. */
const SLACK = 0.002;

const endOf = ({ dur = 0, ts = 0 }: TraceEntry): number => ts + dur;

const checkShape = (entry: TraceEntry): void => {
  ok(["M", "X", "i", "C", "s", "f"].includes(entry.ph), `phase ${entry.ph}`);
  ok(typeof entry.name === "string" && entry.name !== "" && Number.isInteger(entry.pid), JSON.stringify(entry));
  if (entry.ph !== "M") ok(typeof entry.ts === "number" && entry.ts >= 0, `a time: ${JSON.stringify(entry)}`);
  if (entry.ph === "X") ok(typeof entry.dur === "number" && entry.dur >= 0, `a duration: ${JSON.stringify(entry)}`);
  if (entry.ph === "C") for (const value of Object.values(entry.args ?? {})) equal(typeof value, "number");
};

/** No two spans of a track overlap. */
const checkTracks = (spans: readonly TraceEntry[]): void => {
  for (const [track, all] of Map.groupBy(spans, trackOf)) {
    const sorted = all.toSorted((a, b) => (a.ts ?? 0) - (b.ts ?? 0) || endOf(a) - endOf(b));
    sorted.forEach((span, i) => {
      const before = sorted[i - 1];
      if (before !== undefined) {
        ok((span.ts ?? 0) >= endOf(before) - SLACK, `${before.name} and ${span.name} overlap on ${track}`);
      }
    });
  }
};

/** Every arrow has one start and one end, in this order in time, each inside a span of its track. */
const checkArrows = (entries: readonly TraceEntry[], spans: readonly TraceEntry[]): void => {
  const byTrack = Map.groupBy(spans, trackOf);
  const arrows = Map.groupBy(
    entries.filter(({ ph }) => ph === "s" || ph === "f"),
    ({ id }) => id,
  );
  for (const [id, ends] of arrows) {
    deepEqual(ends.map(({ ph }) => ph).toSorted(), ["f", "s"], `ends of arrow ${id}`);
    const [to, from] = ends.toSorted((a, b) => a.ph.localeCompare(b.ph));
    ok((from?.ts ?? 0) <= (to?.ts ?? 0) + SLACK, `arrow ${id} points back in time`);
    for (const [end, name] of [
      [from, "update"],
      [to, "generate"],
    ] as const) {
      if (end === undefined) throw new Error("missing");
      const inside = byTrack.get(trackOf(end))?.some((span) => {
        const at = end.ts ?? 0;
        return span.name === name && (span.ts ?? 0) - SLACK <= at && at <= endOf(span) + SLACK;
      });
      ok(inside, `arrow ${id} meets no ${name}`);
    }
  }
};

/** Every track has a name. */
const checkNames = (entries: readonly TraceEntry[]): void => {
  const named = new Set(entries.filter(({ name }) => name === "thread_name").map(trackOf));
  for (const entry of entries) if (entry.ph === "X" || entry.ph === "i") ok(named.has(trackOf(entry)), trackOf(entry));
};

/** Counts the spans of each name, and the arrows. */
export const check = (text: string): Readonly<Record<string, number>> => {
  const entries = entriesOf(text);
  for (const entry of entries) checkShape(entry);
  const spans = entries.filter(({ ph }) => ph === "X");
  checkTracks(spans);
  checkArrows(entries, spans);
  checkNames(entries);
  const counts: Record<string, number> = {};
  for (const { name } of spans) counts[name] = (counts[name] ?? 0) + 1;
  return { ...counts, arrows: entries.filter(({ ph }) => ph === "s").length };
};
