/** Reads values from Prometheus' text format: each name's sum over its labels. Other lines are skipped. */

import type { ServerLoad } from "./Dialect.ts";

/** A name, its labels, its value, and perhaps a time. Labels may contain braces inside quotes. */
const LINE = /^([a-zA-Z_:][a-zA-Z0-9_:]*)(?:\{(?:[^"}]|"(?:[^"\\]|\\.)*")*\})?\s+(\S+)/;

/** The values of those `names` that the text has. */
export const valuesIn = (text: string, names: readonly string[]): ReadonlyMap<string, number> => {
  const wantedNames = new Set(names);
  const found = new Map<string, number>();
  for (const line of text.split("\n")) {
    const [, name, written] = LINE.exec(line) ?? [];
    if (name === undefined || !wantedNames.has(name)) continue;
    const value = Number(written);
    if (Number.isFinite(value)) found.set(name, (found.get(name) ?? 0) + value);
  }
  return found;
};

/** Reads a server's load by its own names of the counters. */
export const loadIn = (text: string, names: Readonly<Partial<Record<keyof ServerLoad, string>>>): ServerLoad => {
  const values = valuesIn(text, Object.values(names));
  const load = Object.entries(names).flatMap(([key, name]) => {
    const value = values.get(name);
    return value === undefined ? [] : [[key, value] as const];
  });
  return Object.fromEntries(load);
};
