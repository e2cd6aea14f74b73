import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { purposes } from "../../../../src/domain/Random.ts";
import { decodeAll, encode, type ReplyRecord } from "../../../../src/observe/record/replies/ReplyRecord.ts";
import { assertProperty } from "../../../property.ts";

const uint32 = fc.integer({ min: 0, max: 2 ** 32 - 1 });

const token = fc.record({
  id: fc.nat(2 ** 31 - 1),
  mu: fc.float({ max: 0 }),
  version: fc.nat(1000),
  entropy: fc.float({ min: 0 }),
});

const fill = fc.record({
  form: fc.constantFrom("chunk" as const, "step" as const),
  from: fc.nat(5000),
  to: fc.nat(5000),
  version: fc.nat(1000),
});

const record = fc
  .record({
    fills: fc.option(fc.array(fill, { maxLength: 4 }), { nil: undefined }),
    seed: fc.maxSafeNat(),
    purpose: fc.constantFrom(...purposes),
    counters: fc.array(uint32, { maxLength: 4 }),
    request: uint32,
    tokens: fc.array(token, { maxLength: 9 }),
    finish: fc.constantFrom("stop" as const, "length" as const),
  })
  .map(
    ({ counters, fills, finish, purpose, request, seed, tokens }): ReplyRecord => ({
      key: { seed, purpose, counters },
      request,
      sampled: {
        ids: Int32Array.from(tokens, ({ id }) => id),
        mu: Float32Array.from(tokens, ({ mu }) => mu),
        versions: Int32Array.from(tokens, ({ version }) => version),
        entropies: Float32Array.from(tokens, ({ entropy }) => entropy),
        finish,
        ...(fills === undefined ? {} : { fills }),
      },
    }),
  );

const records = fc.array(record, { minLength: 1, maxLength: 5 });

describe("the records of replies", () => {
  it("are read as they were written", () => {
    assertProperty(
      fc.property(records, (written) => {
        const bytes = Buffer.concat(written.map(encode));
        expect(decodeAll(bytes)).toEqual({ records: written, size: bytes.length });
      }),
    );
  });

  it("are read up to the one that was cut off", () => {
    assertProperty(
      fc.property(records, fc.nat(), (written, cut) => {
        const encoded = written.map(encode);
        const bytes = Buffer.concat(encoded);
        const length = cut % bytes.length;
        const ends = encoded.map((_, index) => Buffer.concat(encoded.slice(0, index + 1)).length);
        const whole = ends.filter((end) => end <= length);
        expect(decodeAll(bytes.subarray(0, length))).toEqual({
          records: written.slice(0, whole.length),
          size: whole.at(-1) ?? 0,
        });
      }),
    );
  });

  it("are read up to the one of which a bit changed", () => {
    assertProperty(
      fc.property(records, record, fc.nat(), (before, damaged, bit) => {
        const bytes = encode(damaged);
        bytes[(bit >> 3) % bytes.length]! ^= 1 << (bit & 7);
        const { records } = decodeAll(Buffer.concat([...before.map(encode), bytes]));
        expect(records).toEqual(before);
      }),
    );
  });
});
