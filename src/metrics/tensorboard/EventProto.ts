/** What an event file holds, encoded as TensorFlow's Event message, which TensorBoard reads. Pure; times are seconds since the Unix epoch. */
import type { Histogram } from "./Histogram.ts";
import * as Wire from "./Wire.ts";

/** One value of a summary. */
export type Value = Uint8Array;

const DataClass = { scalar: 1, tensor: 2 } as const;
const DT_STRING = 7;
const SESSION_START = 1;

interface About {
  /** Markdown, shown beside the chart. */
  readonly description?: string;
}

const metadata = (plugin: string, dataClass: number, { description }: About): Uint8Array =>
  Wire.bytes(
    9,
    Wire.message(
      Wire.bytes(1, Wire.bytes(1, plugin)),
      ...(description === undefined ? [] : [Wire.bytes(3, description)]),
      Wire.varint(4, dataClass),
    ),
  );

/** `about` is needed once for each tag of a file. */
export const scalar = (tag: string, value: number, about: About | null = null): Value =>
  Wire.message(
    Wire.bytes(1, tag),
    ...(about === null ? [] : [metadata("scalars", DataClass.scalar, about)]),
    Wire.float(2, value),
  );

export const histogram = (tag: string, { count, counts, limits, max, min, sum, sumOfSquares }: Histogram): Value =>
  Wire.message(
    Wire.bytes(1, tag),
    Wire.bytes(
      5,
      Wire.message(
        Wire.double(1, min),
        Wire.double(2, max),
        Wire.double(3, count),
        Wire.double(4, sum),
        Wire.double(5, sumOfSquares),
        Wire.doubles(6, limits),
        Wire.doubles(7, counts),
      ),
    ),
  );

/** Markdown. */
export const text = (tag: string, markdown: string): Value =>
  Wire.message(
    Wire.bytes(1, tag),
    metadata("text", DataClass.tensor, {}),
    Wire.bytes(
      8,
      Wire.message(Wire.varint(1, DT_STRING), Wire.bytes(2, Wire.bytes(2, Wire.varint(1, 1))), Wire.bytes(8, markdown)),
    ),
  );

export const summary = (time: number, step: number, values: readonly Value[]): Uint8Array =>
  Wire.message(
    Wire.double(1, time),
    Wire.varint(2, step),
    Wire.bytes(5, Wire.message(...values.map((value) => Wire.bytes(1, value)))),
  );

/** The first event of every file. */
export const fileVersion = (time: number): Uint8Array =>
  Wire.message(Wire.double(1, time), Wire.bytes(3, "brain.Event:2"));

/** A start of the run. Where it is not the first, readers forget what earlier files say of `step` and later ones. */
export const start = (time: number, step: number): Uint8Array =>
  Wire.message(Wire.double(1, time), Wire.varint(2, step), Wire.bytes(7, Wire.varint(1, SESSION_START)));
