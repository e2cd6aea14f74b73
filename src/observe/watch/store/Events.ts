/**
 * The events of a run's folder as the file grows: the run at its newest moment, or at an earlier one, replayed from the keyframe
 * before it. Invariant: a request reads at most `BACK_BYTES` before that keyframe, and the lines up to the next one.
 */
import { join } from "node:path";
import { readLines } from "../../../support/files/readLines.ts";
import { readRange, withFile } from "../../../support/files/regularFile.ts";
import { decode, type EventLine } from "../../record/events/EventLine.ts";
import { keyframesIn } from "../../record/events/EventLog.ts";
import type { LineView, Timeline, WindowView } from "../Api.ts";
import { evenly } from "./Column.ts";
import { EventsIndex } from "./EventsIndex.ts";
import { type AttributeBottleneck, RunSnapshot } from "./RunSnapshot.ts";
import { Tail } from "./Tail.ts";
import { windowView } from "./windows.ts";

/** Bytes that are read before a moment's keyframe, for recent gauges and staleness. */
const BACK_BYTES = 768 * 1024;
const ADOPTIONS = 20;
/** A verdict's line is read by its offset alone; most are shorter than this. */
const VERDICT_BYTES = 8 * 1024;

/** The first line is shorter. */
const FIRST_BYTES = 64 * 1024;
/** Bytes behind the last keyframe of the index that are read at once. */
const MOST_UNINDEXED = 8 * 2 ** 20;

export class Events {
  readonly #folder: string;
  readonly #path: string;
  readonly #attribute: AttributeBottleneck;
  /** The contents of events.index.jsonl until the first pass over the file is done; after it, those of the file. */
  #index = new EventsIndex();
  readonly #fileIndex = new EventsIndex();
  readonly #tail: Tail;
  /** Offset behind the last line that answers may come from. */
  #end = 0;
  /** The newest moment; null without events, and after a cut. */
  #live: RunSnapshot | null = null;

  constructor(folder: string, attribute: AttributeBottleneck) {
    this.#folder = folder;
    this.#path = join(folder, "events.jsonl");
    this.#attribute = attribute;
    this.#tail = new Tail(this.#path, {
      line: this.#fileIndex.line,
      cut: (offset) => {
        this.#live = null;
        this.#fileIndex.onLine = null;
        this.#fileIndex.cut(offset);
      },
    });
  }

  /** Reads the first line, the keyframes in the index, and the newest moment, without a pass over the file. */
  async open(): Promise<void> {
    const index = new EventsIndex();
    const size = await withFile(this.#path, async (file) => {
      await readLines(file, 0, FIRST_BYTES, (line, offset) => {
        index.line(line, offset);
        return false;
      });
      return (await file.stat()).size;
    });
    if (size === null) return;
    const places = await withFile(join(this.#folder, "events.index.jsonl"), (file) => file.readFile("utf8"));
    for (const { at, offset, step } of keyframesIn(places ?? "")) {
      if (offset < size) index.keyframes.add(offset, at, step);
    }
    // Without an index, or with one that is far behind, the newest moment waits for the pass.
    const last = index.keyframes.offsets.length - 1;
    if (last < 0 || size - index.keyframes.offsets.at(last) > MOST_UNINDEXED) return;
    this.#index = index;
    this.#end = size;
    const live = await this.#momentAt(Number.POSITIVE_INFINITY);
    this.#live = live.at === 0 ? null : live;
  }

  /** Reads new lines, at first the whole file; true if there were any. */
  async advance(): Promise<boolean> {
    const changed = await this.#tail.advance();
    this.#index = this.#fileIndex;
    this.#end = this.#tail.end;
    if (this.#end > 0 && this.#fileIndex.onLine === null) {
      const live = await this.#momentAt(Number.POSITIVE_INFINITY);
      this.#live = live;
      this.#fileIndex.onLine = (line) => safely(() => live.observe(line));
    }
    return changed;
  }

  get index(): EventsIndex {
    return this.#index;
  }

  get live(): RunSnapshot | null {
    return this.#live;
  }

  timeline(points: number): Timeline {
    return this.#index.timeline(points, this.#live?.at ?? 0);
  }

  /** The view at `at`: the newest if it is null, and the first if it lies before. Null if there are no events. */
  async line(at: number | null): Promise<LineView | null> {
    if (this.#live === null) return null;
    const past = at === null ? null : Math.max(at, this.#index.started() ?? at);
    const moment = past === null || past >= this.#live.at ? this.#live : await this.#momentAt(past);
    return moment.view(this.#index.adoptions(moment.at, ADOPTIONS), this.#attribute);
  }

  /** The windows of at most `limit` of the steps `from` to `to`, evenly chosen. */
  async windows(from: number, to: number, limit: number): Promise<readonly WindowView[]> {
    const { offsets, steps } = this.#index.verdicts;
    const rows = evenly(steps.countBelow(from), steps.countUpTo(to), limit);
    const views = await withFile(this.#path, async (file) => {
      const windows: WindowView[] = [];
      for (const row of rows) {
        const line = await lineAt((at, length) => readRange(file, at, length), offsets.at(row));
        const view = line === null ? null : windowView(line);
        if (view !== null) windows.push(view);
      }
      return windows;
    });
    return views ?? [];
  }

  async #momentAt(at: number): Promise<RunSnapshot> {
    const { ats, offsets } = this.#index.keyframes;
    const end = this.#end;
    const keyframe = ats.countUpTo(at) - 1;
    const begin = keyframe < 0 ? 0 : offsets.at(keyframe);
    let back = keyframe;
    while (back > 0 && begin - offsets.at(back - 1) <= BACK_BYTES) back--;
    const from = keyframe < 0 ? 0 : back === 0 && begin <= BACK_BYTES ? 0 : offsets.at(back);
    const to = keyframe + 1 < offsets.length ? Math.min(end, offsets.at(keyframe + 1)) : end;
    const moment = new RunSnapshot();
    await withFile(this.#path, (file) =>
      readLines(file, from, to, (bytes) => {
        const line = decode(bytes.toString("utf8"));
        if (line === null) return true;
        if (line.at > at) return false;
        safely(() => moment.observe(line));
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
