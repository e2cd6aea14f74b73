/**
 * Entries of a run as the body of W&B's file_stream request: lines of four files, each with the number of its first line. Invariant: the
 * number of a line depends only on the entries before it, so a request that is made again writes the same lines again.
 */

import { item, type Latest, objectOf, textOf } from "./Json.ts";
import type { WandbEntry } from "./WandbEntry.ts";

/** Lines so far of the files that grow. */
export class Counts {
  history = 0;
  events = 0;
  output = 0;

  add({ _tag }: Pick<WandbEntry, "_tag">): void {
    if (_tag === "History") this.history++;
    else if (_tag === "Stats") this.events++;
    else if (_tag === "Output") this.output++;
  }

  copy(): Counts {
    const copy = new Counts();
    copy.history = this.history;
    copy.events = this.events;
    copy.output = this.output;
    return copy;
  }
}

/** `2026-11-22T05:55:28.641504 text`: the page reads the time of a line. */
const outputLine = (time: number, line: string): string =>
  `${new Date(time).toISOString().replace(/(\.\d{3})Z$/, "$1000")} ${line}`;

export interface Body {
  readonly files?: Readonly<Record<string, { readonly offset: number; readonly content: readonly string[] }>>;
}

export interface StreamOptions {
  /** When the run started, milliseconds since the Unix epoch. */
  readonly started: number;
}

const linesOf = (entries: readonly WandbEntry[], { started }: StreamOptions) => {
  const history: string[] = [];
  const events: string[] = [];
  const output: string[] = [];
  for (const entry of entries) {
    if (entry._tag === "History") history.push(objectOf(entry.items));
    else if (entry._tag === "Output") output.push(outputLine(entry.time, entry.line));
    else if (entry._tag === "Stats") {
      const named = entry.items.map(({ json, path }) => ({ path: [`system.${path.join(".")}`], json }));
      const seconds = (entry.time - started) / 1000;
      events.push(
        objectOf([item("_wandb", true), item("_timestamp", entry.time / 1000), item("_runtime", seconds), ...named]),
      );
    }
  }
  return { history, events, output };
};

/** The body that appends the entries behind `counts`, with the summary as it is after them. Empty where they have no lines. */
export const bodyOf = (
  entries: readonly WandbEntry[],
  counts: Counts,
  summary: Latest,
  options: StreamOptions,
): Body => {
  const lines = linesOf(entries, options);
  const part = (name: string, offset: number, content: readonly string[]) =>
    content.length === 0 ? {} : { [name]: { offset, content } };
  const files = {
    ...part("wandb-history.jsonl", counts.history, lines.history),
    ...part("wandb-events.jsonl", counts.events, lines.events),
    ...(entries.some(({ _tag }) => _tag === "Summary") ? part("wandb-summary.json", 0, [summary.text]) : {}),
    ...part("output.log", counts.output, lines.output),
  };
  return Object.keys(files).length === 0 ? {} : { files };
};

/** A request that shows that a run is alive. */
export const heartbeat = "{}";

/** The last request of a run. */
export const completion = (code: number): string => textOf({ complete: true, exitcode: code });
