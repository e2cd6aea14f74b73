/**
 * Defines the metrics for W&B: `step` is the x axis of each, and has no chart of its own. A starting run defines all entries of
 * the catalogue, families by their name before the first parameter. Any other name is defined by the first step that has it.
 */
import { catalogue, nameOf } from "../../../domain/metrics/Catalogue.ts";
import type { MetricEntry } from "./WandbEntry.ts";

/** The x axis, an item of each history line. */
export const STEP = "step";

const definition = (name: string): MetricEntry =>
  name === STEP
    ? { _tag: "Metric", name, stepMetric: "", hidden: true }
    : { _tag: "Metric", name, stepMetric: STEP, hidden: false };

/** The name, the glob of a family, or null where a glob would match every metric. */
const globOf = (name: string): string | null => {
  const at = name.indexOf("{");
  return at < 0 ? name : at === 0 ? null : `${name.slice(0, at)}*`;
};

/** Names and globs of a run that starts. */
export const initial = (): readonly string[] => [
  STEP,
  ...new Set(
    catalogue.flatMap(({ entries }) => entries.map((entry) => globOf(nameOf(entry)))).filter((name) => name !== null),
  ),
];

/** The names that are defined. W&B's server does not expand globs, so the members of a family are defined one by one. */
export class Definitions {
  readonly #entries: Map<string, MetricEntry>;

  /** Goes on with the names that are defined. */
  constructor(names: Iterable<string> = []) {
    this.#entries = new Map(Array.from(names, (name) => [name, definition(name)]));
  }

  get all(): readonly MetricEntry[] {
    return [...this.#entries.values()];
  }

  /** Definitions of the names that have none; they have one from then on. */
  missing(names: Iterable<string>): readonly MetricEntry[] {
    const fresh = [...new Set(names)].filter((name) => !this.#entries.has(name)).map(definition);
    for (const entry of fresh) this.#entries.set(entry.name, entry);
    return fresh;
  }
}

/** Field numbers of a metric's options. */
const options = { synced: 1, hidden: 2, defined: 3 } as const;

/** As the run's configuration has them for the server: fields by number, step metrics by their place in the list, counted from 1. */
export const configured = (entries: readonly MetricEntry[]): readonly Readonly<Record<string, unknown>>[] => {
  const exact = entries.filter(({ name }) => !name.endsWith("*"));
  const place = new Map(exact.map(({ name }, index) => [name, index + 1]));
  return exact.map(({ hidden, name, stepMetric }) => ({
    1: name,
    ...(stepMetric === "" ? {} : { 5: place.get(stepMetric) }),
    6: [...(stepMetric === "" ? [] : [options.synced]), ...(hidden ? [options.hidden] : []), options.defined],
    7: [],
  }));
};
