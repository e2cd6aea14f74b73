import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { Lease } from "../../../src/remote/workers/Lease.ts";
import { BadPart, ResultAssembler, read, split } from "../../../src/remote/workers/ResultParts.ts";
import { assertProperty } from "../../property.ts";

const lease: Lease = { epoch: "e1", group: 3, ticket: "abc", delivery: 1 };

describe("a result in parts", () => {
  it("comes together once, in whatever order and however often its parts come", () => {
    const drawn = fc
      .tuple(fc.uint8Array({ maxLength: 900 }), fc.integer({ min: 120, max: 400 }))
      .chain(([bytes, most]) => {
        const parts = split(lease, bytes, most);
        const indices = parts.map((_, i) => i);
        const more = fc.array(fc.nat(parts.length - 1), { maxLength: 6 });
        const order = more.chain((more) =>
          fc.shuffledSubarray([...indices, ...more], { minLength: indices.length + more.length }),
        );
        return fc.record({ bytes: fc.constant(bytes), parts: fc.constant(parts), most: fc.constant(most), order });
      });
    assertProperty(
      fc.property(drawn, ({ bytes, most, order, parts }) => {
        const assembler = new ResultAssembler<number>(2 ** 20);
        const results: Uint8Array[] = [];
        for (const [at, index] of order.entries()) {
          const message = parts[index]!;
          expect(message.length).toBeLessThanOrEqual(most);
          const seen = new Set(order.slice(0, at + 1)).size;
          const outcome = assembler.add("w", read(message), at);
          if (outcome._tag === "Complete") results.push(outcome.result.bytes);
          // After the last part, repeated parts begin another result, which is dropped with its group.
          if (parts.length > 1 && seen < parts.length) expect(outcome._tag).toBe("Incomplete");
        }
        expect(results.length).toBeGreaterThan(0);
        expect(Buffer.from(results[0]!).equals(Buffer.from(bytes))).toBe(true);
        assembler.discard(lease.group);
        expect(assembler.bytes).toBe(0);
      }),
      { numRuns: 200 },
    );
  });

  it("holds no more than it may", () => {
    const assembler = new ResultAssembler<string>(400);
    const parts = split(lease, new Uint8Array(1_000), 300);
    expect(parts.length).toBeGreaterThan(3);
    expect(assembler.add("w", read(parts[0]!), "first")._tag).toBe("Incomplete");
    const outcome = assembler.add("w", read(parts[1]!), "second");
    expect(outcome).toEqual({ _tag: "Dropped", marks: ["first", "second"] });
    expect(assembler.bytes).toBe(0);
  });

  it("keeps two workers apart that answer for the same lease", () => {
    const assembler = new ResultAssembler<string>(10_000);
    const parts = split(lease, new Uint8Array(300), 250);
    expect(parts).toHaveLength(2);
    expect(assembler.add("a", read(parts[0]!), "a0")._tag).toBe("Incomplete");
    expect(assembler.add("b", read(parts[1]!), "b1")._tag).toBe("Incomplete");
    expect(assembler.discard(lease.group)).toEqual(["a0", "b1"]);
  });

  it("refuses what is no part", () => {
    const [good] = split(lease, new Uint8Array(10), 300);
    const changed = (at: number, value: number): Buffer => {
      const copy = Buffer.from(good!);
      copy.writeUInt32LE(value, at);
      return copy;
    };
    const bad = [
      Buffer.alloc(3),
      changed(0, 2),
      changed(4, 1),
      changed(8, 0),
      changed(8, 5_000),
      changed(12, 2 ** 31),
      changed(12, 3),
    ];
    for (const message of bad) expect(() => read(message)).toThrow(BadPart);
  });
});
