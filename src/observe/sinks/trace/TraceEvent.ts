/** Entries of Chrome's trace-event format, each the text of one JSON object. Pure. Times are microseconds since the trace's origin. */

export type Args = Readonly<Record<string, unknown>>;

/** A row of the trace: a thread of a process, as the format calls them. */
export interface Track {
  readonly pid: number;
  readonly tid: number;
}

/** To the nanosecond. */
const rounded = (us: number): number => Math.round(us * 1000) / 1000;

export const processName = (pid: number, name: string): readonly string[] => [
  JSON.stringify({ ph: "M", name: "process_name", pid, args: { name } }),
  JSON.stringify({ ph: "M", name: "process_sort_index", pid, args: { sort_index: pid } }),
];

export const threadName = ({ pid, tid }: Track, name: string): readonly string[] => [
  JSON.stringify({ ph: "M", name: "thread_name", pid, tid, args: { name } }),
  JSON.stringify({ ph: "M", name: "thread_sort_index", pid, tid, args: { sort_index: tid } }),
];

export const span = (name: string, { pid, tid }: Track, start: number, end: number, args: Args): string =>
  JSON.stringify({ ph: "X", name, pid, tid, ts: rounded(start), dur: rounded(Math.max(0, end - start)), args });

export const instant = (name: string, { pid, tid }: Track, at: number, args: Args): string =>
  JSON.stringify({ ph: "i", s: "p", name, pid, tid, ts: rounded(at), args });

export const counter = (name: string, pid: number, at: number, values: Readonly<Record<string, number>>): string =>
  JSON.stringify({ ph: "C", name, pid, ts: rounded(at), args: values });

/** One end of an arrow, inside the span that is open on its track at that time. */
export interface End extends Track {
  readonly at: number;
}

/** An arrow; `id` is its own. */
export const arrow = (name: string, id: number, from: End, to: End): readonly string[] => [
  JSON.stringify({ ph: "s", cat: name, name, id, pid: from.pid, tid: from.tid, ts: rounded(from.at) }),
  JSON.stringify({ ph: "f", bp: "e", cat: name, name, id, pid: to.pid, tid: to.tid, ts: rounded(to.at) }),
];
