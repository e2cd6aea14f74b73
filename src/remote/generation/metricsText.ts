/** Values out of the text that Prometheus reads: each name's sum over its labels. Pure; lines that are none are passed over. */

import type { Load } from "./Dialect.ts";

/** A name, its labels, its value, and perhaps a time. Labels may hold braces inside quotes. */
const LINE = /^([a-zA-Z_:][a-zA-Z0-9_:]*)(?:\{(?:[^"}]|"(?:[^"\\]|\\.)*")*\})?\s+(\S+)/;

/** Of the names asked for, those that are there. */
export const valuesIn = (text: string, names: readonly string[]): ReadonlyMap<string, number> => {
  const wanted = new Set(names);
  const found = new Map<string, number>();
  for (const line of text.split("\n")) {
    const [, name, written] = LINE.exec(line) ?? [];
    if (name === undefined || !wanted.has(name)) continue;
    const value = Number(written);
    if (Number.isFinite(value)) found.set(name, (found.get(name) ?? 0) + value);
  }
  return found;
};

/** What a server says of its load, by the names that it has for it. */
export const loadIn = (text: string, names: Readonly<Partial<Record<keyof Load, string>>>): Load => {
  const values = valuesIn(text, Object.values(names));
  const known = Object.entries(names).flatMap(([key, name]) => {
    const value = values.get(name);
    return value === undefined ? [] : [[key, value] as const];
  });
  return Object.fromEntries(known);
};
