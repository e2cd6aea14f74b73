/** Reads the numbers of each step from each sink's own format, under the sink's own names. */
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { fieldsOf, one, startOf, valuesOf } from "./tensorboard/reader.ts";
import { entriesIn, wandbFile } from "./wandb/support.ts";

export type Numbers = ReadonlyMap<string, number>;
export type Steps = ReadonlyMap<number, Numbers>;

const numbersOf = (entries: Iterable<readonly [string, unknown]>): Numbers =>
  new Map([...entries].flatMap(([name, value]) => (typeof value === "number" ? [[name, value] as const] : [])));

export const ofJsonLines = (folder: string): Steps => {
  const lines = readFileSync(join(folder, "metrics.jsonl"), "utf8").split("\n").filter(Boolean);
  return new Map(
    lines.map((line) => {
      const { step, time: _, ...metrics }: Record<string, unknown> = JSON.parse(line);
      return [Number(step), numbersOf(Object.entries(metrics))];
    }),
  );
};

/** W&B's own columns, and `step`, are no metrics, and tables are objects. */
const ownOfWandb = /^(_|step$)/;

export const ofWandb = async (folder: string): Promise<Steps> => {
  const entries = await entriesIn(wandbFile(folder));
  return new Map(
    entries.flatMap((entry) => {
      if (entry._tag !== "History") return [];
      const items = entry.items.flatMap(({ json, path }): [string, unknown][] => {
        const [name = "", ...inside] = path;
        return inside.length > 0 || ownOfWandb.test(name) ? [] : [[name, JSON.parse(json)]];
      });
      return [[entry.step, numbersOf(items)]];
    }),
  );
};

/** As TensorBoard reads it: a file that starts at a step takes the place of those before it from that step on. */
export const ofTensorBoard = (folder: string): Steps => {
  const steps = new Map<number, Map<string, number>>();
  for (const name of readdirSync(join(folder, "tensorboard")).sort()) {
    const file = readFileSync(join(folder, "tensorboard", name));
    const start = startOf(file);
    for (const step of [...steps.keys()]) if (start !== undefined && step >= start) steps.delete(step);
    for (const { step, tag, value } of valuesOf(file)) {
      // Field 2 is a scalar; texts and histograms have others.
      if (!fieldsOf(value).has(2)) continue;
      const numbers = steps.get(step) ?? new Map<string, number>();
      steps.set(step, numbers.set(tag, Number(one(value, 2))));
    }
  }
  return steps;
};

/** `name{label=value,…}` with the labels in order, as the exposition format and the exporter alike may give them in any. */
export const keyOf = (name: string, labels: Iterable<readonly [string, string]>): string =>
  `${name}{${[...labels]
    .filter(([label]) => label !== "unit")
    .map(([label, value]) => `${label}=${value}`)
    .sort()
    .join(",")}}`;

/** Reads the text that Prometheus scrapes. */
export const ofScrape = (text: string): Numbers =>
  new Map(
    text.split("\n").flatMap((line) => {
      const [, name = "", labels = "", value = ""] = /^([a-z_0-9]+)(?:\{(.*)\})? (\S+)$/.exec(line) ?? [];
      if (name === "") return [];
      const pairs = Array.from(
        labels.matchAll(/(\w+)="((?:[^"\\]|\\.)*)"/g),
        ([, label = "", text = ""]) => [label, text] as const,
      );
      return [[keyOf(name, pairs), Number(value)] as const];
    }),
  );

interface Attribute {
  readonly key: string;
  readonly value: { readonly stringValue: string };
}
interface Data {
  readonly dataPoints: readonly {
    readonly asDouble?: number;
    readonly asInt?: number;
    readonly attributes: readonly Attribute[];
  }[];
}
interface Sent {
  readonly name: string;
  readonly gauge?: Data;
  readonly sum?: Data;
}

/** Reads a request for a collector. */
export const ofOtlp = (body: string): Numbers => {
  const sent: readonly Sent[] = JSON.parse(body).resourceMetrics[0].scopeMetrics[0].metrics;
  return new Map(
    sent.flatMap(({ gauge, name, sum }) =>
      [...(gauge?.dataPoints ?? []), ...(sum?.dataPoints ?? [])].map(
        ({ asDouble, asInt, attributes }) =>
          [
            keyOf(
              name,
              attributes.map(({ key, value }) => [key, value.stringValue] as const),
            ),
            Number(asDouble ?? asInt),
          ] as const,
      ),
    ),
  );
};
