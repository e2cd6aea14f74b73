import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { type KeysAndValues, KeyValueCache } from "../../src/generation/KeyValueCache.ts";
import { assertProperty } from "../property.ts";

const shape = { layers: 2, kvHeads: 2, headDim: 2 };

/** New keys and values of one row in which every number tells its token, layer, head and kind. */
const rowOf = (tokens: readonly number[]): KeysAndValues => {
  const numbers = (layer: number, kind: number): Float32Array =>
    Float32Array.from({ length: 2 * tokens.length * 2 }, (_, i) => {
      const head = Math.floor(i / (tokens.length * 2));
      return 100 * tokens[Math.floor(i / 2) % tokens.length]! + 10 * layer + 2 * head + kind + (i % 2) / 10;
    });
  return { keys: [0, 1].map((layer) => numbers(layer, 0)), values: [0, 1].map((layer) => numbers(layer, 1)) };
};

/** The tokens a row holds, read back from every layer, head and kind. */
const tokensOf = (cache: KeyValueCache, row: number): readonly number[] => {
  const view = cache.view(row, row + 1);
  const read = (array: Float32Array, head: number): number[] =>
    Array.from({ length: cache.length(row) }, (_, t) => Math.floor(array[(head * view.capacity + t) * 2]! / 100));
  const readings = [...view.keys, ...view.values].flatMap((array) => [read(array, 0), read(array, 1)]);
  for (const reading of readings) expect(reading).toEqual(readings[0]);
  return readings[0]!;
};

type Operation =
  | { readonly kind: "append"; readonly row: number; readonly count: number }
  | { readonly kind: "truncate"; readonly row: number; readonly length: number }
  | { readonly kind: "swap"; readonly a: number; readonly b: number }
  | { readonly kind: "copy"; readonly row: number; readonly from: number; readonly count: number }
  | { readonly kind: "shrink" };

const row = fc.nat(3);
const operation: fc.Arbitrary<Operation> = fc.oneof(
  fc.record({ kind: fc.constant("append" as const), row, count: fc.integer({ min: 1, max: 90 }) }),
  fc.record({ kind: fc.constant("truncate" as const), row, length: fc.nat(100) }),
  fc.record({ kind: fc.constant("swap" as const), a: row, b: row }),
  fc.record({ kind: fc.constant("copy" as const), row, from: row, count: fc.nat(100) }),
  fc.record({ kind: fc.constant("shrink" as const) }),
);

describe("KeyValueCache", () => {
  it("holds what plain lists of tokens and versions would hold", () => {
    assertProperty(
      fc.property(fc.array(operation, { maxLength: 25 }), (operations) => {
        const cache = new KeyValueCache(shape);
        cache.reserve(4, 1);
        const rows: { token: number; version: number }[][] = [[], [], [], []];
        let next = 0;
        operations.forEach((operation, version) => {
          if (operation.kind === "append") {
            const tokens = Array.from({ length: operation.count }, () => next++ % 1000);
            cache.reserve(4, rows[operation.row]!.length + operation.count);
            cache.append(operation.row, rowOf(tokens), 0, operation.count, operation.count, version);
            rows[operation.row]!.push(...tokens.map((token) => ({ token, version })));
          } else if (operation.kind === "truncate") {
            cache.truncate(operation.row, operation.length);
            rows[operation.row]!.splice(operation.length);
          } else if (operation.kind === "swap") {
            cache.swap(operation.a, operation.b);
            [rows[operation.a], rows[operation.b]] = [rows[operation.b]!, rows[operation.a]!];
          } else if (operation.kind === "copy") {
            const count = Math.min(operation.count, rows[operation.from]!.length);
            if (operation.row === operation.from) return;
            cache.copy(operation.row, cache, operation.from, count);
            rows[operation.row] = rows[operation.from]!.slice(0, count);
          } else cache.shrink(1);
        });
        rows.forEach((expected, index) => {
          expect(tokensOf(cache, index)).toEqual(expected.map(({ token }) => token));
          const versions = cache
            .spans(index)
            .flatMap(({ end, version }, i, spans) => new Array<number>(end - (spans[i - 1]?.end ?? 0)).fill(version));
          expect(versions).toEqual(expected.map(({ version }) => version));
        });
      }),
      { numRuns: 60 },
    );
  });

  it("gives neighbouring rows as one array without copying", () => {
    const cache = new KeyValueCache(shape);
    cache.reserve(4, 10);
    const view = cache.view(1, 3);
    expect(view).toMatchObject({ rows: 2, capacity: 64 });
    expect(view.keys[0]).toHaveLength(2 * 2 * 64 * 2);
    expect(view.keys[0]!.buffer).toBe(cache.view(0, 4).keys[0]!.buffer);
  });

  it("refuses to write past a row's room", () => {
    const cache = new KeyValueCache(shape);
    cache.reserve(1, 64);
    const tokens = Array.from({ length: 64 }, (_, i) => i);
    cache.append(0, rowOf(tokens), 0, 64, 64, 0);
    expect(() => cache.append(0, rowOf([1]), 0, 1, 1, 0)).toThrow(RangeError);
  });
});
