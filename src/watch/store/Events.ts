/**
 * The events of a run's folder, as the file grows: the run at its newest moment, and at any earlier one by going on from the keyframe before
 * it. Invariant: a request reads at most `BACK_BYTES` before that keyframe and what lies up to the next one.
 */
import { join } from "node:path";
import { decode, type EventLine } from "../../record/events/EventLine.ts";
import type { LineView, Timeline, WindowView } from "../Api.ts";
import { evenly } from "./Column.ts";
import { EventsIndex } from "./EventsIndex.ts";
import { readLines } from "./lines.ts";
import { type Attribute, Moment } from "./Moment.ts";
import { readRange, withFile } from "./readable.ts";
import { Tail } from "./Tail.ts";
import { windowOf } from "./windows.ts";

/** Gauges, windows and groups from before the keyframe. */
const BACK_BYTES = 768 * 1024;
const ADOPTIONS = 20;
/** A verdict's line is read by its offset alone: most are shorter than this. */
const VERDICT_BYTES = 8 * 1024;

/** Tags of lines before the keyframe that say what a moment shows. */
const remembered = /"_tag":"(?:Gauges|Finished|Windowed|Verdict|Learning|StepClosed|Dropped|Run|Resumed)"/;

export class Events {
  readonly #path: string;
  readonly #attribute: Attribute;
  readonly index = new EventsIndex();
  readonly #tail: Tail;
  /** The newest moment; null until the past is read, and after a cut. */
  #live: Moment | null = null;

  constructor(folder: string, attribute: Attribute) {
    this.#path = join(folder, "events.jsonl");
    this.#attribute = attribute;
    this.#tail = new Tail(this.#path, {
      line: this.index.line,
      cut: (offset) => {
        this.#live = null;
        this.index.onLine = null;
        this.index.cut(offset);
      },
    });
  }

  /** Reads what has come since; true where something has. */
  async advance(): Promise<boolean> {
    const changed = await this.#tail.advance();
    if (this.#live === null && this.#tail.end > 0) {
      const live = await this.#momentAt(Number.POSITIVE_INFINITY);
      this.#live = live;
      this.index.onLine = (line) => safely(() => live.observe(line));
    }
    return changed;
  }

  get live(): Moment | null {
    return this.#live;
  }

  timeline(points: number): Timeline {
    return this.index.timeline(points, this.#live?.at ?? 0);
  }

  /** At `at`, the newest moment where it is null, the first one where it lies before; null where there are no events. */
  async line(at: number | null): Promise<LineView | null> {
    if (this.#live === null) return null;
    const past = at === null ? null : Math.max(at, this.index.started() ?? at);
    const moment = past === null || past >= this.#live.at ? this.#live : await this.#momentAt(past);
    return moment.view(this.index.adoptions(moment.at, ADOPTIONS), this.#attribute);
  }

  /** Of the steps `from` to `to`, at most `limit` evenly chosen ones. */
  async windows(from: number, to: number, limit: number): Promise<readonly WindowView[]> {
    const { offsets, steps } = this.index.verdicts;
    const rows = evenly(steps.countBelow(from), steps.countUpTo(to), limit);
    const views = await withFile(this.#path, async (file) => {
      const found: WindowView[] = [];
      for (const row of rows) {
        const line = await lineAt((at, length) => readRange(file, at, length), offsets.at(row));
        const view = line === null ? null : windowOf(line);
        if (view !== null) found.push(view);
      }
      return found;
    });
    return views ?? [];
  }

  async #momentAt(at: number): Promise<Moment> {
    const { ats, offsets } = this.index.keyframes;
    const end = this.#tail.end;
    const keyframe = ats.countUpTo(at) - 1;
    const begin = keyframe < 0 ? 0 : offsets.at(keyframe);
    let back = keyframe;
    while (back > 0 && begin - offsets.at(back - 1) <= BACK_BYTES) back--;
    const from = keyframe < 0 ? 0 : back === 0 && begin <= BACK_BYTES ? 0 : offsets.at(back);
    const to = keyframe + 1 < offsets.length ? Math.min(end, offsets.at(keyframe + 1)) : end;
    const moment = new Moment();
    await withFile(this.#path, (file) =>
      readLines(file, from, to, (bytes, offset) => {
        const text = bytes.toString("utf8");
        if (offset < begin && !remembered.test(text.slice(0, 160))) return true;
        const line = decode(text);
        if (line === null) return true;
        if (line.at > at) return false;
        safely(() => (offset < begin ? moment.remember(line) : moment.observe(line)));
        return true;
      }),
    );
    return moment;
  }
}

/** A line that only looks like an event must not end the server. */
const safely = (observe: () => void): void => {
  try {
    observe();
  } catch {
    // The line counts as absent.
  }
};

const lineAt = async (
  read: (at: number, length: number) => Promise<Buffer>,
  offset: number,
): Promise<EventLine | null> => {
  for (let length = VERDICT_BYTES; length <= 2 ** 26; length *= 8) {
    const bytes = await read(offset, length);
    const end = bytes.indexOf(0x0a);
    if (end >= 0) return decode(bytes.toString("utf8", 0, end));
    if (bytes.length < length) return null;
  }
  return null;
};
