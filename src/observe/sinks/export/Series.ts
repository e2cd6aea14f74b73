/**
 * A run's numbers for monitoring systems: one name for each family of the catalogue, labels for its parameters, times in seconds.
 * Pure. Invariant: series of one name have the same labels, kind, unit and help.
 */
import type { StepRecord } from "../../../domain/Event.ts";
import { type CatalogueEntry, entryOf, nameOf } from "../../../domain/metrics/Catalogue.ts";
import type { Sample } from "../../../flow/Bus.ts";
import type { RunInfo } from "../Sink.ts";

export type Labels = Readonly<Record<string, string>>;

export interface Series {
  /** Words of the name, the outermost first: `["stage", "busy"]`. */
  readonly path: readonly string[];
  /** A counter counts since the run began. */
  readonly kind: "gauge" | "counter";
  /** The catalogue's unit, with `s` in place of `ms`; or `bytes`. */
  readonly unit: string;
  readonly help: string;
  readonly labels: Labels;
  readonly value: number;
}

/** The word for a parameter in a name. Other parameters leave nothing behind: `stage/{stage}/busy` becomes `stage busy`. */
const words: Labels = { split: "episodes", tag: "tag", info: "info", part: "part", k: "k" };

const wordOf = (segment: string): string =>
  segment
    .replace(/\{(\w+)\}/g, (_, parameter: string) => words[parameter] ?? "")
    .replace(/@$/, "")
    .replace("@", "_at_")
    .replace("__", "_")
    .replace(/_(s|ms)$/, "");

/** The words of a name or template, its parameters taken out. */
export const pathOf = (entry: CatalogueEntry): readonly string[] =>
  nameOf(entry)
    .split("/")
    .map(wordOf)
    .filter((word) => word !== "");

const escaped = (text: string): string => text.replace(/[.*+?^${}()|[\]\\]/g, "\\$&");

/** Values of the template's parameters in a name. */
const labelsOf = (entry: CatalogueEntry, name: string): Labels => {
  if ("name" in entry) return {};
  const pattern = escaped(entry.template).replace(/\\\{(\w+)\\\}/g, "(?<$1>[^/]+)");
  return { ...new RegExp(`^${pattern}$`).exec(name)?.groups };
};

const seriesOf = (name: string, value: number): Series => {
  const entry = entryOf(name);
  if (entry === undefined) return { path: name.split("/"), kind: "gauge", unit: "1", help: name, labels: {}, value };
  const ms = entry.unit === "ms";
  return {
    path: pathOf(entry),
    kind: entry.kind === "total" ? "counter" : "gauge",
    unit: ms ? "s" : entry.unit,
    help: entry.meaning,
    labels: labelsOf(entry, name),
    value: ms ? value / 1000 : value,
  };
};

/** Every metric of a step. */
export const ofStep = ({ metrics, step }: StepRecord): readonly Series[] => [
  { path: ["run", "step"], kind: "gauge", unit: "1", help: "Newest step of the run.", labels: {}, value: step },
  ...[...metrics].map(([name, value]) => seriesOf(name, value)),
];

type Row = readonly [path: string, kind: Series["kind"], unit: string, help: string, value: number];

const rows = (labels: Labels, all: readonly Row[]): readonly Series[] =>
  all.map(([path, kind, unit, help, value]) => ({ path: path.split("/"), kind, unit, help, labels, value }));

const ofStage = ({ stages }: Sample): readonly Series[] =>
  stages.flatMap((stage) =>
    rows({ stage: stage.name }, [
      ["live/stage/running", "gauge", "items", "Items at work.", stage.running],
      ["live/stage/blocked", "gauge", "items", "Items that wait for what is downstream.", stage.blocked],
      ["live/stage/queue", "gauge", "items", "Items that wait in front of the stage.", stage.queue],
      ["live/stage/concurrency", "gauge", "slots", "Slots of the stage.", stage.concurrency],
      ["live/stage/items", "counter", "items", "Items passed on.", stage.items],
      ["live/stage/busy_time", "counter", "s", "Slot-time in which the stage worked.", stage.busyMs / 1000],
      ["live/stage/starved_time", "counter", "s", "Slot-time with nothing to do.", stage.starvedMs / 1000],
      [
        "live/stage/blocked_time",
        "counter",
        "s",
        "Slot-time in which work waited for downstream.",
        stage.blockedMs / 1000,
      ],
    ]),
  );

/** The gauges and the resources of the process. */
export const ofSample = (sample: Sample): readonly Series[] => {
  const { groupsInFlight, process, tokens } = sample;
  return [
    ...ofStage(sample),
    ...rows({}, [
      ["live/tokens/generated", "counter", "tokens", "Tokens sampled since this start.", tokens.generated],
      ["live/tokens/trained", "counter", "tokens", "Tokens trained on since this start.", tokens.trained],
      ["live/groups_in_flight", "gauge", "groups", "Groups admitted and without an end yet.", groupsInFlight],
      ["process/cpu", "counter", "s", "Time of all threads of the process on a core.", process.cpuMs / 1000],
      ["process/resident_memory", "gauge", "bytes", "Resident memory of the process.", process.rssBytes],
      ["process/heap", "gauge", "bytes", "JavaScript heap of the main thread.", process.heapBytes],
      ["process/loop_lag/p99", "gauge", "s", "Lag of the event loop, 99th percentile.", process.loopLagMs.p99 / 1000],
      ["process/loop_lag/max", "gauge", "s", "Lag of the event loop, worst.", process.loopLagMs.max / 1000],
    ]),
  ];
};

/** The series that stay the same while the run goes on. */
export const ofRun = ({ mode, name, seed, steps }: RunInfo): readonly Series[] => [
  ...rows({ name, mode, seed: String(seed) }, [["run/info", "gauge", "1", "The run; always 1.", 1]]),
  ...rows({}, [["run/steps", "gauge", "1", "Steps of the whole run.", steps]]),
];
