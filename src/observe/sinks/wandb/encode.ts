/** Entries as the protobuf records of W&B (`wandb_internal.proto`). Fields with their default value are left out. */
import {
  type BinaryWriter,
  encoded,
  flag,
  integer,
  message,
  text,
  textElement,
  type WriteFields,
} from "../../../support/protobuf.ts";
import type { Item } from "./Json.ts";
import type { AlertEntry, EnvironmentEntry, MetricEntry, RunEntry, WandbEntry } from "./WandbEntry.ts";

/** Version of W&B's SDK whose files these are; its server reads it as the client's. */
export const SDK_VERSION = "0.31.0";

const timestamp = (writer: BinaryWriter, field: number, ms: number): void =>
  message(writer, field, (time) => {
    const seconds = Math.floor(ms / 1000);
    integer(time, 1, seconds);
    integer(time, 2, Math.round((ms - seconds * 1000) * 1e6));
  });

const items = (writer: BinaryWriter, field: number, all: readonly Item[]): void => {
  for (const { json, path } of all)
    message(writer, field, (entry) => {
      for (const part of path) textElement(entry, 2, part);
      text(entry, 16, json);
    });
};

/** Items of a record that knows no paths. */
const flatItems = (writer: BinaryWriter, field: number, all: readonly Item[]): void => {
  for (const { json, path } of all)
    message(writer, field, (entry) => {
      text(entry, 1, path.join("."));
      text(entry, 16, json);
    });
};

const run = (writer: BinaryWriter, entry: RunEntry): void => {
  text(writer, 1, entry.id);
  text(writer, 2, entry.entity);
  text(writer, 3, entry.project);
  message(writer, 4, (config) => flatItems(config, 1, entry.config));
  text(writer, 6, entry.group);
  text(writer, 8, entry.name);
  for (const tag of entry.tags) text(writer, 10, tag);
  text(writer, 13, entry.host);
  timestamp(writer, 17, entry.started);
  message(writer, 19, (telemetry) => text(telemetry, 5, SDK_VERSION));
};

const environment = (writer: BinaryWriter, entry: EnvironmentEntry): void => {
  text(writer, 1, entry.os);
  timestamp(writer, 3, entry.started);
  text(writer, 6, entry.program);
  text(writer, 12, entry.host);
  integer(writer, 16, entry.cpus);
  integer(writer, 17, entry.cpus);
  message(writer, 21, (memory) => integer(memory, 1, entry.memoryBytes));
  text(writer, 199, `${entry.host}-${entry.started}`);
};

const metric = (writer: BinaryWriter, { hidden, name, stepMetric }: MetricEntry): void => {
  text(writer, name.endsWith("*") ? 2 : 1, name);
  text(writer, 4, stepMetric);
  message(writer, 6, (options) => {
    flag(options, 1, stepMetric !== "");
    flag(options, 2, hidden);
    flag(options, 3, true);
  });
};

export const ALERT_LEVEL = "WARN";
/** W&B sends an alert of the same title again only after so long; this is its own package's default. */
export const ALERT_WAIT_MS = 60_000;

const alert = (writer: BinaryWriter, entry: AlertEntry): void => {
  text(writer, 1, entry.title);
  text(writer, 2, entry.text);
  text(writer, 3, ALERT_LEVEL);
  integer(writer, 4, ALERT_WAIT_MS);
};

/** Its field in a record, and what fills it. */
const bodyOf = (entry: WandbEntry): readonly [field: number, fill: WriteFields] => {
  switch (entry._tag) {
    case "History":
      return [
        2,
        (writer) => {
          items(writer, 1, entry.items);
          message(writer, 2, (step) => integer(step, 1, entry.step));
        },
      ];
    case "Summary":
      return [3, (writer) => items(writer, 1, entry.items)];
    case "Config":
      return [5, (writer) => flatItems(writer, 1, entry.items)];
    case "Files":
      return [6, (writer) => files(writer, entry.paths)];
    case "Stats":
      return [
        7,
        (writer) => {
          timestamp(writer, 2, entry.time);
          flatItems(writer, 3, entry.items);
        },
      ];
    case "Alert":
      return [10, (writer) => alert(writer, entry)];
    case "Metric":
      return [12, (writer) => metric(writer, entry)];
    case "Output":
      return [
        13,
        (writer) => {
          integer(writer, 1, 1);
          timestamp(writer, 2, entry.time);
          text(writer, 3, `${entry.line}\n`);
        },
      ];
    case "Run":
      return [17, (writer) => run(writer, entry)];
    case "Exit":
      return [
        18,
        (writer) => {
          integer(writer, 1, entry.code);
          integer(writer, 2, entry.seconds);
        },
      ];
    case "Final":
      return [20, () => undefined];
    case "Header":
      return [21, (writer) => message(writer, 1, (version) => versionOf(version, entry.producer))];
    case "Footer":
      return [22, () => undefined];
    case "Environment":
      return [26, (writer) => environment(writer, entry)];
  }
};

/** The oldest server that takes it. */
const SERVER_VERSION = "0.70.0";
const versionOf = (writer: BinaryWriter, producer: string): void => {
  text(writer, 1, producer);
  text(writer, 2, SERVER_VERSION);
};

const MEDIA = 2;
const files = (writer: BinaryWriter, paths: readonly string[]): void => {
  for (const path of paths)
    message(writer, 1, (file) => {
      text(file, 1, path);
      integer(file, 3, MEDIA);
    });
};

/** The entry as record number `number` of its file, counted from 1. */
export const encode = (entry: WandbEntry, number: number): Uint8Array =>
  encoded((writer) => {
    integer(writer, 1, number);
    message(writer, ...bodyOf(entry));
  });
