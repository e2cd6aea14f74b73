/**
 * The sink for TensorBoard: event files in `<run folder>/tensorboard`, one for each start of the run. Every metric of a step is a
 * scalar with its meaning. Histograms, transcripts of sampled episodes and the run file are beside them. Invariants: a call
 * returns once its data is on its way to the disk. After a resume, readers drop the repeated steps.
 */
import { join } from "node:path";
import { Clock, Effect } from "effect";
import type { EpisodeRecord } from "../../../domain/EpisodeRecord.ts";
import type { StepRecord } from "../../../domain/Event.ts";
import { entryOf } from "../../../domain/metrics/Catalogue.ts";
import { once, type RunInfo, type Sink, SinkError } from "../Sink.ts";
import { markdownTranscript } from "../transcript.ts";
import { Distributions } from "./Distributions.ts";
import * as EventFile from "./EventFile.ts";
import * as EventProto from "./EventProto.ts";
import * as Histogram from "./Histogram.ts";
import * as HParams from "./HParams.ts";

const name = "tensorboard";

/** Transcripts of one step and split. */
const TRANSCRIPTS = 4;

/** The catalogue's meaning and unit; undefined for a key that it does not have. */
const describe = (metric: string): string | undefined => {
  const entry = entryOf(metric);
  if (entry === undefined) return undefined;
  return entry.unit === "1" ? entry.meaning : `${entry.meaning} Unit: ${entry.unit}.`;
};

/** A summary of the record; `described` holds the tags that have a description already. */
export const scalars = ({ metrics, step, time }: StepRecord, described: Set<string>): Uint8Array => {
  const values = [...metrics].map(([metric, value]) => {
    if (described.has(metric)) return EventProto.scalar(metric, value);
    described.add(metric);
    const description = describe(metric);
    return EventProto.scalar(metric, value, description === undefined ? {} : { description });
  });
  return EventProto.summary(time / 1000, step, values);
};

const advantagesOf = (records: readonly EpisodeRecord[]): readonly number[] =>
  records.flatMap(({ turns }) => turns.flatMap(({ advantages }) => advantages ?? []));

/** Summaries of sampled episodes, one for each step: transcripts of the first few, and the advantages of their tokens. */
const episodeSummaries = (records: readonly EpisodeRecord[], time: number): readonly Uint8Array[] =>
  [...Map.groupBy(records, ({ split, step }) => `${split} ${step}`).values()].map((some) => {
    const { split, step } = some[0]!;
    const texts = some
      .filter(({ sequence }) => sequence === 0)
      .slice(0, TRANSCRIPTS)
      .map((record, i) => EventProto.text(`episodes/${split}/${i}`, markdownTranscript(record)));
    const advantages = Histogram.ofValues(advantagesOf(some));
    const histograms =
      advantages === null ? [] : [EventProto.histogram("distribution/advantages/sampled_tokens", advantages)];
    return EventProto.summary(time, step, [...texts, ...histograms]);
  });

const runFile = ({ config, mode, name, seed }: RunInfo): string =>
  `**${name}** · ${mode} · seed ${seed}\n\n\`\`\`json\n${JSON.stringify(config, null, 2)}\n\`\`\``;

/** The first events of a file. */
const opening = (run: RunInfo): readonly Uint8Array[] => {
  const time = run.started / 1000;
  const version = EventProto.fileVersion(time);
  if (run.from > 0) return [version, EventProto.start(time, run.from + 1)];
  // The first start is recorded too: readers take the first one that they see for the beginning, and the others for restarts.
  return [
    version,
    EventProto.start(time, 0),
    EventProto.summary(time, 0, [EventProto.text("run", runFile(run)), ...HParams.startValues(run.config, time)]),
  ];
};

/** Writes to a folder inside the run's. */
export const make = (): Sink => {
  let file: EventFile.EventFile | null = null;
  const described = new Set<string>();
  const distributions = new Distributions();
  const attempt = (what: string, run: () => Promise<void>): Effect.Effect<void, SinkError> =>
    Effect.tryPromise({
      try: run,
      catch: (cause) =>
        new SinkError({ sink: name, message: `cannot ${what}: ${cause instanceof Error ? cause.message : cause}` }),
    });
  const append = (events: readonly Uint8Array[]): Effect.Effect<void, SinkError> =>
    events.length === 0 ? Effect.void : attempt("write an event file", async () => file?.append(...events));
  const seconds = Effect.map(Clock.currentTimeMillis, (ms) => ms / 1000);
  return {
    name,
    essential: false,
    // A second try could tear a record that is half written.
    feeding: { retry: once },
    open: (run) => {
      const folder = join(run.folder, "tensorboard");
      return attempt(`write to ${folder}`, async () => {
        file = await EventFile.make(folder, Math.floor(run.started / 1000));
        await file.append(...opening(run));
      });
    },
    step: (record) => append([scalars(record, described)]),
    event: (event) => {
      const completed = distributions.observe(event);
      return Effect.flatMap(seconds, (time) =>
        append(
          completed.map(({ histogram, step, tag }) =>
            EventProto.summary(time, step, [EventProto.histogram(tag, histogram)]),
          ),
        ),
      );
    },
    episodes: (records) => Effect.flatMap(seconds, (time) => append(episodeSummaries(records, time))),
    close: (outcome) =>
      Effect.flatMap(seconds, (time) =>
        attempt("close an event file", async () => {
          await file?.append(EventProto.summary(time, 0, [HParams.endValue(outcome, time)]));
          await file?.close();
          file = null;
        }),
      ),
  };
};
