import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { neededRows } from "../../src/generation/RowQueue.ts";
import { Rows } from "../../src/generation/Rows.ts";
import type { Sequence } from "../../src/generation/StepPlan.ts";
import { assertProperty } from "../property.ts";

interface Owner {
  readonly name: number;
  readonly inBatch: boolean;
  row: number;
}

const sequenceOf = (row: number): Sequence => ({
  id: row,
  pin: null,
  prefixKey: "",
  prefixLength: 0,
  phase: "active",
  row,
  length: 1,
  cached: 0,
  trace: [],
  fills: undefined,
  ticket: 0,
  lastUsed: 0,
});

describe("Rows", () => {
  it("gathers a batch into neighbouring rows by exchanges that keep every owner's contents", () => {
    assertProperty(
      fc.property(fc.array(fc.option(fc.boolean()), { minLength: 1, maxLength: 40 }), (layout) => {
        const rows = new Rows<Owner>(layout.length);
        const owners = layout.map((kind, name): Owner => ({ name, inBatch: kind === true, row: -1 }));
        for (const owner of owners) rows.give(owner);
        layout.forEach((kind, name) => {
          if (kind === null) rows.free(owners[name]!);
        });
        const occupants = owners.filter(({ row }) => row >= 0);
        const batch = occupants.filter(({ inBatch }) => inBatch);
        if (batch.length === 0) return;
        const contents: (number | undefined)[] = layout.map(
          (_, row) => occupants.find((owner) => owner.row === row)?.name,
        );
        for (const { a, b } of rows.gather(batch, () => false)) [contents[a], contents[b]] = [contents[b], contents[a]];
        for (const { name, row } of occupants) expect(contents[row]).toBe(name);
        expect([...rows.occupied].sort((a, b) => a.name - b.name)).toEqual(occupants);
        const span = Math.max(...batch.map(({ row }) => row)) - Math.min(...batch.map(({ row }) => row)) + 1;
        expect(span - batch.length).toBeLessThanOrEqual(Math.max(4, batch.length >> 2));
      }),
    );
  });

  it("moves nothing for a few holes", () => {
    const rows = new Rows<Owner>(20);
    const owners = Array.from({ length: 20 }, (_, name): Owner => ({ name, inBatch: name % 5 !== 0, row: -1 }));
    for (const owner of owners) rows.give(owner);
    const batch = owners.filter(({ inBatch }) => inBatch);
    expect(rows.gather(batch, () => false)).toEqual([]);
  });

  it("gives the lowest free row and refuses when there is none", () => {
    const rows = new Rows<Owner>(2);
    const [a, b, c] = [0, 1, 2].map((name): Owner => ({ name, inBatch: true, row: -1 })) as [Owner, Owner, Owner];
    rows.give(a);
    rows.give(b);
    expect(rows.hasFree).toBe(false);
    expect(() => rows.give(c)).toThrow(RangeError);
    rows.free(a);
    rows.give(c);
    expect(c.row).toBe(0);
  });
});

describe("the rows that a cache needs", () => {
  const occupied = (...rows: readonly number[]) => rows.map((row) => sequenceOf(row));
  const growth = { rows: 8, bucket: 8, limit: 40 };

  it("are those it has while every sequence has one", () => {
    expect(neededRows(growth, [], occupied(0, 7))).toBe(8);
    expect(neededRows(growth, [], [])).toBe(8);
  });

  it("double at least, in whole buckets and up to the limit", () => {
    expect(neededRows(growth, [], occupied(0, 8))).toBe(16);
    expect(neededRows(growth, [], occupied(0, 17))).toBe(24);
    expect(neededRows({ ...growth, rows: 24 }, [], occupied(24))).toBe(40);
  });

  it("include rows that are swapped, which may be new", () => {
    expect(neededRows(growth, [{ a: 9, b: 2 }], occupied(2))).toBe(16);
    expect(neededRows(growth, [{ a: 2, b: 9 }], occupied(2))).toBe(16);
  });
});
