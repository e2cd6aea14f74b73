/**
 * Metrics by name, unit, kind and meaning, and families of metrics that differ in a part of their name. Names are branded, so that emitters
 * and readers can only use entries of the catalogue.
 */
import type { Brand } from "effect";

/** The name of a metric; plain text is none. */
export type MetricName<Name extends string = string> = Name & Brand.Brand<"MetricName">;
/** The only place where a text becomes the name of a metric. */
const nameOf = <Name extends string>(text: Name): MetricName<Name> => text as MetricName<Name>;

/**
 * Says how a metric's values combine over steps. `mean`, `max` and `min` are statistics within a step; a `share` is a mean between 0 and 1;
 * a `counter` counts within the step. A `total` counts since the run began; a `level` is a state at the end of the step.
 */
export type Kind = "mean" | "max" | "min" | "share" | "counter" | "total" | "level";

/** The unit of a metric. */
export type Unit =
  | "1"
  | "share"
  | "reward"
  | "nats"
  | "tokens"
  | "tokens/s"
  | "turns"
  | "actions"
  | "groups"
  | "episodes"
  | "windows"
  | "items"
  | "slots"
  | "threads"
  | "versions"
  | "s"
  | "ms"
  | "bytes"
  | "USD";

/** The unit, kind and meaning of a metric. */
export interface MetricInfo {
  readonly unit: Unit;
  readonly kind: Kind;
  /** One sentence for people. */
  readonly meaning: string;
}

/** A metric of the catalogue. */
export interface Metric<Name extends string = string> extends MetricInfo {
  readonly name: MetricName<Name>;
}

/** Names between braces in a template: `stage/{stage}/busy` has `stage`. */
export type ParametersOf<Template extends string> = Template extends `${string}{${infer Name}}${infer Rest}`
  ? Name | ParametersOf<Rest>
  : never;

/** Metrics that differ in a part of their name. */
export interface Family<Template extends string = string> extends MetricInfo {
  readonly template: Template;
  readonly of: (parameters: Readonly<Record<ParametersOf<Template>, string>>) => Metric;
}

export const metric = <const Name extends string>(
  name: Name,
  kind: Kind,
  unit: Unit,
  meaning: string,
): Metric<Name> => ({
  name: nameOf(name),
  kind,
  unit,
  meaning,
});

/** The metrics of a template, one for each choice of its parameters. */
export const family = <const Template extends string>(
  template: Template,
  kind: Kind,
  unit: Unit,
  meaning: string,
): Family<Template> => ({
  template,
  kind,
  unit,
  meaning,
  of: (parameters) => {
    const values: Readonly<Record<string, string>> = parameters;
    return metric(
      template.replace(/\{(\w+)\}/g, (_, key: string) => values[key] ?? ""),
      kind,
      unit,
      meaning,
    );
  },
});
