/** Writes single values into safetensors files of float32, as no writer of ours would. */
import { readFile, writeFile } from "node:fs/promises";
import { Effect } from "effect";
import { readHeader } from "../../src/model/checkpoint/Safetensors.ts";

/** Puts the float32 of these bits at `index` of a tensor. */
export const plant = Effect.fnUntraced(function* (path: string, tensor: string, index: number, bits: number) {
  const { dataStart, entries } = yield* readHeader(path);
  const entry = entries.find(({ name }) => name === tensor);
  if (entry === undefined) return yield* Effect.die(new RangeError(`${path} has no tensor ${tensor}`));
  const bytes = yield* Effect.promise(() => readFile(path));
  bytes.writeUInt32LE(bits, dataStart + entry.begin + 4 * index);
  yield* Effect.promise(() => writeFile(path, bytes));
});
