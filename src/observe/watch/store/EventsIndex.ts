/**
 * Offsets of important lines in events.jsonl, from one pass over it and from later lines. Most lines are recognised by their
 * first bytes and never parsed. Memory: 48 bytes for each step, 24 for each keyframe, and the marks.
 */
import type { EventLine } from "../../record/events/EventLine.ts";
import { decode } from "../../record/events/EventLine.ts";
import type { RunLine } from "../../record/events/RunLine.ts";
import type { Mark, Timeline } from "../Api.ts";
import { Column, evenly } from "./Column.ts";
import { markOf, markTags } from "./marks.ts";
import type { LineFollower } from "./Tail.ts";
import { stepOfWindow } from "./windows.ts";

/** Tags of the lines that are parsed. */
const parsedTags: ReadonlySet<string> = new Set([
  ...markTags,
  "Run",
  "StepClosed",
  "Verdict",
  "Keyframe",
  "WeightsAdopted",
  "Updated",
]);

/** The tag lies among a line's first bytes; a nested tag would come later. */
const HEAD_BYTES = 160;
/** The largest number of marks of one kind on a timeline. */
const MOST_MARKS = 500;

const tagOf = (line: Buffer): string | undefined =>
  /"_tag":"(\w+)"/.exec(line.toString("latin1", 0, Math.min(line.length, HEAD_BYTES)))?.[1];

interface Located<A> {
  readonly offset: number;
  readonly value: A;
}

/** Offset, time and step of each line of one kind. */
class LinePlaces {
  readonly offsets = new Column();
  readonly ats = new Column();
  readonly steps = new Column();

  add(offset: number, at: number, step: number): void {
    if (this.offsets.length > 0 && offset <= this.offsets.at(this.offsets.length - 1)) return;
    this.offsets.push(offset);
    this.ats.push(at);
    this.steps.push(step);
  }

  cut(offset: number): void {
    const length = this.offsets.countBelow(offset);
    for (const column of [this.offsets, this.ats, this.steps]) column.cut(length);
  }
}

export class EventsIndex implements LineFollower {
  readonly keyframes = new LinePlaces();
  readonly verdicts = new LinePlaces();
  readonly #closes = new LinePlaces();
  /** Here `steps` holds versions. */
  readonly #adoptions = new LinePlaces();
  #marks: Located<Mark>[] = [];
  #runs: Located<RunLine>[] = [];
  #first: number | null = null;
  /** Called with each new line, once the first pass is done. */
  onLine: ((line: EventLine, offset: number) => void) | null = null;

  readonly line = (bytes: Buffer, offset: number): void => {
    const tag = tagOf(bytes);
    if (this.onLine === null && tag !== undefined && !parsedTags.has(tag)) return;
    const line = decode(bytes.toString("utf8"));
    if (line === null) return;
    try {
      this.#place(line, offset);
    } catch {
      // The line only looks like an event, and counts as absent.
    }
    this.onLine?.(line, offset);
  };

  readonly cut = (offset: number): void => {
    for (const places of [this.keyframes, this.verdicts, this.#closes, this.#adoptions]) places.cut(offset);
    this.#marks = this.#marks.filter((mark) => mark.offset < offset);
    this.#runs = this.#runs.filter((run) => run.offset < offset);
    if (offset === 0) this.#first = null;
  };

  /** The newest line that begins a run or a resumed part of it. */
  run(): RunLine | null {
    return this.#runs.at(-1)?.value ?? null;
  }

  started(): number | null {
    return this.#first;
  }

  /** The last `most` adoptions up to `at`, newest last. */
  adoptions(at: number, most: number): readonly { readonly at: number; readonly version: number }[] {
    const { ats, steps } = this.#adoptions;
    const end = ats.countUpTo(at);
    const first = Math.max(0, end - most);
    return Array.from({ length: end - first }, (_, i) => ({ at: ats.at(first + i), version: steps.at(first + i) }));
  }

  timeline(points: number, last: number): Timeline {
    const { ats, steps } = this.#closes;
    const rows = evenly(0, ats.length, points);
    const kinds = Map.groupBy(this.#marks, ({ value }) => value.kind);
    const marks = [...kinds.values()].flatMap((all) =>
      evenly(0, all.length, MOST_MARKS).flatMap((i) => all[i]?.value ?? []),
    );
    return {
      from: this.#first ?? last,
      to: last,
      steps: rows.map((row) => ({ at: ats.at(row), step: steps.at(row) })),
      marks: marks.sort((a, b) => a.at - b.at),
    };
  }

  #place(line: EventLine, offset: number): void {
    const { at, step } = line;
    this.#first ??= at;
    const mark = markOf(line);
    if (mark !== null) this.#marks.push({ offset, value: mark });
    switch (line._tag) {
      case "Run":
        this.#runs.push({ offset, value: line });
        break;
      case "Keyframe":
        this.keyframes.add(offset, at, step);
        break;
      case "Verdict":
        this.verdicts.add(offset, at, stepOfWindow(line.window));
        break;
      case "StepClosed":
        this.#closes.add(offset, at, step);
        break;
      case "WeightsAdopted":
        this.#adoptions.add(offset, at, line.version);
        break;
    }
  }
}
