/**
 * Turns spans, events, samples and records of a run into entries of a trace. A pure state machine without clock and file. Times
 * are nanoseconds since the Unix epoch, and the first one is the trace's origin.
 */
import type { VersionRun } from "../../../domain/EpisodeSummary.ts";
import type { Event, StepRecord } from "../../../domain/Event.ts";
import { type Metrics, valueIn } from "../../../domain/metrics/Metrics.ts";
import { staleness } from "../../../domain/metrics/run.ts";
import { type Sample, tokenRates } from "../../../flow/Bus.ts";
import { Arrows, type PlacedSpan } from "./Arrows.ts";
import * as TraceEvent from "./TraceEvent.ts";
import * as Tracks from "./Tracks.ts";

/** A span that is open. */
export interface OpenSpan {
  readonly name: string;
  readonly start: bigint;
  readonly place: Tracks.SpanPlace;
}

type Values = ReadonlyMap<string, unknown>;
type Entries = readonly string[];

const numbers = (value: unknown): readonly number[] => (Array.isArray(value) ? value.filter(Number.isFinite) : []);

/** The versions of a reply in order, with the tokens of each, from the attributes of `generate`. */
const runsOf = (attributes: Values): readonly VersionRun[] => {
  const tokens = numbers(attributes.get("version_tokens"));
  return numbers(attributes.get("versions")).map((version, i) => [version, tokens[i] ?? 0]);
};

/** Name and arguments of the instant that shows an event; null for events that are not shown. */
const instantOf = (event: Event): readonly [string, TraceEvent.Args] | null => {
  switch (event._tag) {
    case "WeightsAdopted":
      return [`adopted v${event.version}`, { version: event.version }];
    case "Controlled":
      return [`control: ${event.control._tag}`, { by: event.by, ...event.control }];
    case "Refill":
      return ["refill", { window: event.window, round: event.round, groups: event.groups }];
    case "EmptySelection":
      return ["empty selection", { window: event.window }];
    case "UpdateSkipped":
      return ["update skipped", { window: event.window, reason: event.reason }];
    case "Stopped":
    case "Resumed":
      return [event._tag.toLowerCase(), { ...event }];
    default:
      return null;
  }
};

export class TraceChart {
  readonly #tracks = new Tracks.Tracks();
  readonly #arrows = new Arrows();
  #origin: bigint | null = null;
  #last: Sample | null = null;

  /** Microseconds since the origin. */
  #us(nanos: bigint): number {
    this.#origin ??= nanos;
    return Number(nanos - this.#origin) / 1000;
  }

  begin(name: string, start: bigint): OpenSpan {
    this.#us(start);
    return { name, start, place: this.#tracks.take(name) };
  }

  /** `problem` is the failure of the span, or null. */
  end({ name, place, start }: OpenSpan, end: bigint, attributes: Values, problem: string | null): Entries {
    place.release();
    const placed: PlacedSpan = { ...place.track, start: this.#us(start), end: this.#us(end) };
    const args = { ...Object.fromEntries(attributes), ...(problem === null ? {} : { problem }) };
    return [
      ...place.named,
      TraceEvent.span(name, place.track, placed.start, placed.end, args),
      ...this.#arrowsOf(name, placed, attributes),
    ];
  }

  #arrowsOf(name: string, placed: PlacedSpan, attributes: Values): Entries {
    if (name === "generate") return this.#arrows.addReply(placed, runsOf(attributes));
    const version = attributes.get("version");
    return name === "update" && typeof version === "number" ? this.#arrows.addUpdate(version, placed) : [];
  }

  event(event: Event, now: bigint): Entries {
    const found = instantOf(event);
    return found === null ? [] : [TraceEvent.instant(found[0], Tracks.events, this.#us(now), found[1])];
  }

  step({ metrics, time }: StepRecord): Entries {
    const at = this.#us(BigInt(Math.round(time)) * 1_000_000n);
    return counterOf("staleness", at, { mean: stalenessIn(metrics).mean, max: stalenessIn(metrics).max });
  }

  sample(sample: Sample, now: bigint): Entries {
    const before = this.#last;
    this.#last = sample;
    const at = this.#us(now);
    const rates = before === null ? null : tokenRates(before, sample);
    return [
      ...sample.stages.flatMap(({ blocked, name, queue, running }) => [
        ...counterOf(`queue ${name}`, at, { items: queue }),
        ...counterOf(`work ${name}`, at, { running, blocked }),
      ]),
      ...(rates === null ? [] : counterOf("tokens per second", at, rates)),
      ...counterOf("groups in flight", at, { groups: sample.groupsInFlight }),
      ...counterOf("event loop lag ms", at, { p99: sample.process.loopLagMs.p99 }),
    ];
  }

  /** An entry that says something about the trace itself. */
  mark(text: string, now: bigint): string {
    return TraceEvent.instant(text, Tracks.events, this.#us(now), {});
  }
}

const stalenessIn = (metrics: Metrics) => ({
  mean: valueIn(metrics, staleness.mean),
  max: valueIn(metrics, staleness.max),
});

/** Values that were not measured are left out. */
const counterOf = (name: string, at: number, values: Readonly<Record<string, number | undefined>>): Entries => {
  const measured = Object.entries(values).filter((entry): entry is [string, number] => entry[1] !== undefined);
  return measured.length === 0 ? [] : [TraceEvent.counter(name, Tracks.counters, at, Object.fromEntries(measured))];
};
