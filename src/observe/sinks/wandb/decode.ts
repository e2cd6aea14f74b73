/**
 * Records of a `.wandb` file as entries, for going on with a file and for sending it: those of a step, the console, the statistics, files and
 * the end. Other records are `null`, and fields that `encode` does not write are skipped.
 */
import { BinaryReader } from "@bufbuild/protobuf/wire";
import type {
  AlertEntry,
  ExitEntry,
  FilesEntry,
  HistoryEntry,
  MetricEntry,
  OutputEntry,
  StatsEntry,
  SummaryEntry,
} from "./Entry.ts";
import type { Item } from "./Json.ts";

export type Decoded =
  | HistoryEntry
  | SummaryEntry
  | StatsEntry
  | OutputEntry
  | AlertEntry
  | FilesEntry
  | MetricEntry
  | ExitEntry;

/** Reads one field of a message, or leaves it by returning false. */
type Field = (field: number, reader: BinaryReader) => boolean;

const fields = (bytes: Uint8Array, read: Field): void => {
  const reader = new BinaryReader(bytes);
  while (reader.pos < reader.len) {
    const [field, wire] = reader.tag();
    if (!read(field, reader)) reader.skip(wire, field);
  }
};

const itemOf = (bytes: Uint8Array): Item => {
  const path: string[] = [];
  let json = "null";
  fields(bytes, (field, reader) => {
    if (field === 1 || field === 2) path.push(reader.string());
    else if (field === 16) json = reader.string();
    else return false;
    return true;
  });
  return { path, json };
};

const timeOf = (bytes: Uint8Array): number => {
  let ms = 0;
  fields(bytes, (field, reader) => {
    if (field === 1) ms += Number(reader.int64()) * 1000;
    else if (field === 2) ms += Number(reader.int64()) / 1e6;
    else return false;
    return true;
  });
  return ms;
};

const historyOf = (bytes: Uint8Array, withItems: boolean): HistoryEntry => {
  const items: Item[] = [];
  let step = 0;
  fields(bytes, (field, reader) => {
    if (field === 1 && withItems) items.push(itemOf(reader.bytes()));
    else if (field === 2)
      fields(reader.bytes(), (inner, number) => {
        if (inner !== 1) return false;
        step = Number(number.int64());
        return true;
      });
    else return false;
    return true;
  });
  return { _tag: "History", step, items };
};

const itemsAt = (bytes: Uint8Array, at: number): Item[] => {
  const items: Item[] = [];
  fields(bytes, (field, reader) => field === at && items.push(itemOf(reader.bytes())) > 0);
  return items;
};

const timedOf = (bytes: Uint8Array): { readonly time: number; readonly line: string } => {
  let time = 0;
  let line = "";
  fields(bytes, (field, reader) => {
    if (field === 2) time = timeOf(reader.bytes());
    else if (field === 3) line = reader.string();
    else return false;
    return true;
  });
  return { time, line };
};

const statsOf = (bytes: Uint8Array): StatsEntry => {
  const items: Item[] = [];
  let time = 0;
  fields(bytes, (field, reader) => {
    if (field === 2) time = timeOf(reader.bytes());
    else if (field === 3) items.push(itemOf(reader.bytes()));
    else return false;
    return true;
  });
  return { _tag: "Stats", time, items };
};

const filesOf = (bytes: Uint8Array): FilesEntry => {
  const paths: string[] = [];
  fields(bytes, (field, reader) => {
    if (field !== 1) return false;
    fields(reader.bytes(), (inner, file) => inner === 1 && paths.push(file.string()) > 0);
    return true;
  });
  return { _tag: "Files", paths };
};

const metricOf = (bytes: Uint8Array): MetricEntry => {
  let [name, stepMetric, hidden] = ["", "", false];
  fields(bytes, (field, reader) => {
    if (field === 1 || field === 2) name = reader.string();
    else if (field === 4) stepMetric = reader.string();
    else if (field === 6)
      fields(reader.bytes(), (inner, option) => {
        if (inner !== 2) return false;
        hidden = option.bool();
        return true;
      });
    else return false;
    return true;
  });
  return { _tag: "Metric", name, stepMetric, hidden };
};

const alertOf = (bytes: Uint8Array): AlertEntry => {
  let [title, text] = ["", ""];
  fields(bytes, (field, reader) => {
    if (field === 1) title = reader.string();
    else if (field === 2) text = reader.string();
    else return false;
    return true;
  });
  return { _tag: "Alert", title, text };
};

const exitOf = (bytes: Uint8Array): ExitEntry => {
  let [code, seconds] = [0, 0];
  fields(bytes, (field, reader) => {
    if (field === 1) code = Number(reader.int64());
    else if (field === 2) seconds = Number(reader.int64());
    else return false;
    return true;
  });
  return { _tag: "Exit", code, seconds };
};

const bodies: Readonly<Record<number, (bytes: Uint8Array, history: boolean) => Decoded>> = {
  2: historyOf,
  3: (bytes) => ({ _tag: "Summary", items: itemsAt(bytes, 1) }),
  6: filesOf,
  7: statsOf,
  10: alertOf,
  12: metricOf,
  13: (bytes) => {
    const { line, time } = timedOf(bytes);
    return { _tag: "Output", time, line: line.replace(/\n$/, "") };
  },
  18: exitOf,
};

/** Throws where the bytes are no protobuf message. Without `history`, of a history line only its step is read. */
export const decode = (payload: Uint8Array, history = true): Decoded | null => {
  let entry: Decoded | null = null;
  fields(payload, (field, reader) => {
    const read = bodies[field];
    if (read === undefined) return false;
    entry = read(reader.bytes(), history);
    return true;
  });
  return entry;
};
