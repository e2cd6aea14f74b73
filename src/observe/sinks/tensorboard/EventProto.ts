/**
 * Encodes the events of an event file as TensorFlow's Event message, which TensorBoard reads. Pure; times are seconds since the
 * Unix epoch.
 */
import {
  type BinaryWriter,
  bytes,
  double,
  doubles,
  encoded,
  float,
  integer,
  message,
  textElement,
  text as textField,
  type WriteFields,
} from "../../../support/protobuf.ts";
import type { Histogram } from "./Histogram.ts";

/** One value of a summary. */
export type Value = WriteFields;

const DataClass = { scalar: 1, tensor: 2 } as const;
const DT_FLOAT = 1;
const DT_STRING = 7;
const SESSION_START = 1;

interface ScalarOptions {
  /** Markdown, shown beside the chart. */
  readonly description?: string;
}

const metadata = (
  value: BinaryWriter,
  plugin: string,
  dataClass: number,
  { description = "" }: ScalarOptions,
  content: Uint8Array | null = null,
): void =>
  message(value, 9, (writer) => {
    message(writer, 1, (data) => {
      textField(data, 1, plugin);
      if (content !== null) bytes(data, 2, content);
    });
    textField(writer, 3, description);
    integer(writer, 4, dataClass);
  });

/** `about` is needed once for each tag of a file. */
export const scalar =
  (tag: string, value: number, about: ScalarOptions | null = null): Value =>
  (writer) => {
    textField(writer, 1, tag);
    if (about !== null) metadata(writer, "scalars", DataClass.scalar, about);
    float(writer, 2, value);
  };

export const histogram =
  (tag: string, { count, counts, limits, max, min, sum, sumOfSquares }: Histogram): Value =>
  (writer) => {
    textField(writer, 1, tag);
    message(writer, 5, (histo) => {
      [min, max, count, sum, sumOfSquares].forEach((value, i) => {
        double(histo, i + 1, value);
      });
      doubles(histo, 6, limits);
      doubles(histo, 7, counts);
    });
  };

/** A tensor of one text: Markdown. */
export const text =
  (tag: string, markdown: string): Value =>
  (writer) => {
    textField(writer, 1, tag);
    metadata(writer, "text", DataClass.tensor, {});
    message(writer, 8, (tensor) => {
      integer(tensor, 1, DT_STRING);
      message(tensor, 2, (shape) => message(shape, 2, (dimension) => integer(dimension, 1, 1)));
      textElement(tensor, 8, markdown);
    });
  };

/** Data for the HPARAMS plugin. All of it is in the metadata, and the tensor beside it is an unused 0. */
export const hparams =
  (tag: string, data: WriteFields): Value =>
  (writer) => {
    textField(writer, 1, tag);
    metadata(writer, "hparams", 0, {}, encoded(data));
    message(writer, 8, (tensor) => {
      integer(tensor, 1, DT_FLOAT);
      message(tensor, 2, () => undefined);
      message(tensor, 5, (values) => values.float(0));
    });
  };

export const summary = (time: number, step: number, values: readonly Value[]): Uint8Array =>
  encoded((event) => {
    double(event, 1, time);
    integer(event, 2, step);
    message(event, 5, (all) => {
      for (const value of values) message(all, 1, value);
    });
  });

/** The first event of every file. */
export const fileVersion = (time: number): Uint8Array =>
  encoded((event) => {
    double(event, 1, time);
    textField(event, 3, "brain.Event:2");
  });

/** A start of the run. After a later start, readers drop the records of `step` and later steps from earlier files. */
export const start = (time: number, step: number): Uint8Array =>
  encoded((event) => {
    double(event, 1, time);
    integer(event, 2, step);
    message(event, 7, (log) => integer(log, 1, SESSION_START));
  });
