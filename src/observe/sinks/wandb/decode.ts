/**
 * Records of a `.wandb` file as entries, for going on with a file and for sending it: those of a step, the console, the statistics, files and
 * the end. Other records are `null`, and fields that `encode` does not write are skipped.
 */
import { type BinaryReader, readFields, readMessage } from "../../../support/protobuf.ts";
import type { Item } from "./Json.ts";
import type {
  AlertEntry,
  ExitEntry,
  FilesEntry,
  HistoryEntry,
  MetricEntry,
  OutputEntry,
  StatsEntry,
  SummaryEntry,
} from "./WandbEntry.ts";

export type Decoded =
  | HistoryEntry
  | SummaryEntry
  | StatsEntry
  | OutputEntry
  | AlertEntry
  | FilesEntry
  | MetricEntry
  | ExitEntry;

const itemOf = (record: BinaryReader): Item => {
  const path: string[] = [];
  let json = "null";
  const part = (reader: BinaryReader): void => void path.push(reader.string());
  readMessage(record, {
    1: part,
    2: part,
    16: (reader) => {
      json = reader.string();
    },
  });
  return { path, json };
};

const timeOf = (record: BinaryReader): number => {
  let ms = 0;
  readMessage(record, {
    1: (reader) => {
      ms += Number(reader.int64()) * 1000;
    },
    2: (reader) => {
      ms += Number(reader.int64()) / 1e6;
    },
  });
  return ms;
};

const historyOf = (record: BinaryReader, withItems: boolean): HistoryEntry => {
  const items: Item[] = [];
  let step = 0;
  readMessage(record, {
    ...(withItems ? { 1: (reader) => void items.push(itemOf(reader)) } : {}),
    2: (reader) =>
      readMessage(reader, {
        1: (number) => {
          step = Number(number.int64());
        },
      }),
  });
  return { _tag: "History", step, items };
};

const summaryOf = (record: BinaryReader): SummaryEntry => {
  const items: Item[] = [];
  readMessage(record, { 1: (reader) => void items.push(itemOf(reader)) });
  return { _tag: "Summary", items };
};

const outputOf = (record: BinaryReader): OutputEntry => {
  let time = 0;
  let line = "";
  readMessage(record, {
    2: (reader) => {
      time = timeOf(reader);
    },
    3: (reader) => {
      line = reader.string();
    },
  });
  return { _tag: "Output", time, line: line.replace(/\n$/, "") };
};

const statsOf = (record: BinaryReader): StatsEntry => {
  const items: Item[] = [];
  let time = 0;
  readMessage(record, {
    2: (reader) => {
      time = timeOf(reader);
    },
    3: (reader) => void items.push(itemOf(reader)),
  });
  return { _tag: "Stats", time, items };
};

const filesOf = (record: BinaryReader): FilesEntry => {
  const paths: string[] = [];
  readMessage(record, {
    1: (reader) => readMessage(reader, { 1: (file) => void paths.push(file.string()) }),
  });
  return { _tag: "Files", paths };
};

const metricOf = (record: BinaryReader): MetricEntry => {
  let [name, stepMetric, hidden] = ["", "", false];
  const named = (reader: BinaryReader): void => {
    name = reader.string();
  };
  readMessage(record, {
    1: named,
    2: named,
    4: (reader) => {
      stepMetric = reader.string();
    },
    6: (reader) =>
      readMessage(reader, {
        2: (option) => {
          hidden = option.bool();
        },
      }),
  });
  return { _tag: "Metric", name, stepMetric, hidden };
};

const alertOf = (record: BinaryReader): AlertEntry => {
  let [title, text] = ["", ""];
  readMessage(record, {
    1: (reader) => {
      title = reader.string();
    },
    2: (reader) => {
      text = reader.string();
    },
  });
  return { _tag: "Alert", title, text };
};

const exitOf = (record: BinaryReader): ExitEntry => {
  let [code, seconds] = [0, 0];
  readMessage(record, {
    1: (reader) => {
      code = Number(reader.int64());
    },
    2: (reader) => {
      seconds = Number(reader.int64());
    },
  });
  return { _tag: "Exit", code, seconds };
};

const bodies: Readonly<Record<number, (record: BinaryReader, history: boolean) => Decoded>> = {
  2: historyOf,
  3: summaryOf,
  6: filesOf,
  7: statsOf,
  10: alertOf,
  12: metricOf,
  13: outputOf,
  18: exitOf,
};

/** Throws where the bytes are no protobuf message. Without `history`, of a history line only its step is read. */
export const decode = (payload: Uint8Array, history = true): Decoded | null => {
  let entry: Decoded | null = null;
  const fields = Object.entries(bodies).map(([field, read]) => [
    field,
    (reader: BinaryReader) => {
      entry = read(reader, history);
    },
  ]);
  readFields(payload, Object.fromEntries(fields));
  return entry;
};
