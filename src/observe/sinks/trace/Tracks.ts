/**
 * Assigns spans to tracks of the trace: each kind of span has its own tracks, as many as were open at once. A pure state machine.
 * Invariant: no two spans that overlap share a track.
 */
import { SpanRows } from "./SpanRows.ts";
import * as TraceEvent from "./TraceEvent.ts";

interface Kind {
  readonly pid: number;
  /** Name of a track; numbered where the kind has several at once. */
  readonly row: string;
  readonly many: boolean;
  /** Order within the process. */
  readonly order: number;
}

/** Processes of the trace, in the order they are shown. */
const PROCESSES = ["run", "stages", "rollout", "episodes", "generate", "step", "gauges"] as const;
const pidOf = (process: (typeof PROCESSES)[number]): number => PROCESSES.indexOf(process) + 1;

const kind = (process: (typeof PROCESSES)[number], row: string, many: boolean, order = 0): Kind => ({
  pid: pidOf(process),
  row,
  many,
  order,
});

const kinds: Readonly<Record<string, Kind>> = {
  train: kind("run", "train", false),
  score: kind("stages", "score", true, 0),
  filter: kind("stages", "filter", false, 1),
  update: kind("stages", "learn: update", false, 2),
  gradient_analysis: kind("stages", "gradient analysis", false, 3),
  close: kind("stages", "close", false, 4),
  validation: kind("stages", "validation", false, 5),
  checkpoint: kind("stages", "checkpoint", false, 6),
  group: kind("rollout", "group", true),
  turn: kind("episodes", "turn", true),
  generate: kind("generate", "slot", true),
  step: kind("step", "call", true),
};

/** Tracks of one kind, or of spans of users' own, have this many numbers. */
const STRIDE = 100_000;
/** Spans of no kind above lie in the process of the run. */
const others = kind("run", "other", true, 1);

/** The track of instants of the whole run. */
export const events: TraceEvent.Track = { pid: pidOf("run"), tid: 9 * STRIDE };
/** The process of counters. */
export const counters: number = pidOf("gauges");

/** A span's place, for as long as it is open. */
export interface SpanPlace {
  readonly track: TraceEvent.Track;
  /** Entries that name the track, where it is the first span of it. */
  readonly named: readonly string[];
  readonly release: () => void;
}

/** Entries that open a trace. */
export const opening: readonly string[] = [
  ...PROCESSES.flatMap((process) => TraceEvent.processName(pidOf(process), process)),
  ...TraceEvent.threadName(events, "events"),
];

export class Tracks {
  readonly #rows = new Map<Kind, SpanRows>();

  take(name: string): SpanPlace {
    const kind = Object.hasOwn(kinds, name) ? kinds[name]! : others;
    const rows = this.#rows.get(kind) ?? new SpanRows();
    this.#rows.set(kind, rows);
    const before = rows.count;
    const row = rows.take();
    const track = { pid: kind.pid, tid: kind.order * STRIDE + row + 1 };
    const label = kind.many || row > 0 ? `${kind.row} ${row}` : kind.row;
    return {
      track,
      named: rows.count > before ? TraceEvent.threadName(track, label) : [],
      release: () => rows.release(row),
    };
  }
}
