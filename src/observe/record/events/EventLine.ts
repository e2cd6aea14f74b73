/**
 * A line of events.jsonl: an event with its time and step. The file begins with a `Run` line. The run's events follow in their
 * order, with the gauges once a second. From time to time a `Keyframe` lets a reader start there without the lines before it.
 */
import type { Event, Finished } from "../../../domain/Event.ts";
import type { Sample } from "../../../flow/Bus.ts";
import {
  type CompactEpisode,
  type CompactSample,
  compactEpisode,
  compactSample,
  episodeOf,
  sampleOf,
} from "./compact.ts";
import type { Keyframe } from "./Keyframe.ts";
import type { RunLine } from "./RunLine.ts";

interface Stamp {
  /** The step under way, which is one more than the closed steps; for `StepClosed` the closed step itself. */
  readonly step: number;
  /** Milliseconds since the Unix epoch. */
  readonly at: number;
}

export interface GaugesLine {
  readonly _tag: "Gauges";
  readonly sample: Sample;
}

/** The end of the run: the last line of a run that was not killed. */
export interface EndLine {
  readonly _tag: "End";
  readonly outcome: "completed" | "stopped" | "failed";
  readonly message: string;
}

export type LineContent = Event | RunLine | GaugesLine | EndLine;
export type EventLine = Stamp & (LineContent | { readonly _tag: "Keyframe"; readonly frame: Keyframe });

/** Encodes a line as text, without its newline. */
export const encode = (line: EventLine): string => {
  switch (line._tag) {
    case "Finished":
      return JSON.stringify({ ...line, episodes: line.episodes.map(compactEpisode) });
    case "Gauges":
      return JSON.stringify({ ...line, sample: compactSample(line.sample) });
    case "Keyframe": {
      const { sample } = line.frame;
      return JSON.stringify({
        ...line,
        frame: { ...line.frame, sample: sample === null ? null : compactSample(sample) },
      });
    }
    default:
      return JSON.stringify(line);
  }
};

/** A line in the form that `encode` writes. */
type EncodedLine = Stamp &
  (
    | Exclude<LineContent, Finished | GaugesLine>
    | (Omit<Finished, "episodes"> & { readonly episodes: readonly CompactEpisode[] })
    | { readonly _tag: "Gauges"; readonly sample: CompactSample }
    | {
        readonly _tag: "Keyframe";
        readonly frame: Omit<Keyframe, "sample"> & { readonly sample: CompactSample | null };
      }
  );

/** Decodes a text of `encode`; null for any other text. */
export const decode = (text: string): EventLine | null => {
  try {
    const value: unknown = JSON.parse(text);
    return isLine(value) ? expandLine(value) : null;
  } catch {
    return null;
  }
};

const expandLine = (line: EncodedLine): EventLine => {
  switch (line._tag) {
    case "Finished":
      return { ...line, episodes: line.episodes.map(episodeOf) };
    case "Gauges":
      return { ...line, sample: sampleOf(line.sample) };
    case "Keyframe": {
      const { sample } = line.frame;
      return { ...line, frame: { ...line.frame, sample: sample === null ? null : sampleOf(sample) } };
    }
    default:
      return line;
  }
};

const isLine = (value: unknown): value is EncodedLine =>
  typeof value === "object" &&
  value !== null &&
  "_tag" in value &&
  "step" in value &&
  typeof value.step === "number" &&
  "at" in value &&
  typeof value.at === "number";
