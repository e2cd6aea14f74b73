import { mkdtemp, readdir, readFile, rm, stat, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, assert, beforeAll, describe, expect, it } from "@effect/vitest";
import { Effect } from "effect";
import * as fc from "fast-check";
import { round } from "../../../src/model/checkpoint/FloatFormat.ts";
import * as Safetensors from "../../../src/model/checkpoint/Safetensors.ts";
import { assertProperty } from "../../property.ts";

let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "millrace-safetensors-"));
});
afterAll(() => rm(folder, { recursive: true, force: true }));

const example = new Map<string, Safetensors.Tensor>([
  ["a.weight", { shape: [2, 3], data: Float32Array.of(1, 2, 3, 4, 5, 6) }],
  ["scalar", { shape: [], data: Float32Array.of(-7) }],
  ["empty", { shape: [0, 4], data: new Float32Array() }],
]);

/** Bytes of a file with this header and so many data bytes. */
const crafted = (header: string, dataBytes: number): Uint8Array => {
  const text = new TextEncoder().encode(header);
  const bytes = new Uint8Array(8 + text.byteLength + dataBytes);
  new DataView(bytes.buffer).setBigUint64(0, BigInt(text.byteLength), true);
  bytes.set(text, 8);
  return bytes;
};
const entry = (dtype: string, shape: number[], offsets: number[]) => ({ dtype, shape, data_offsets: offsets });

describe("a written file", () => {
  it.effect("reads back with names, shapes, values, metadata and format", () =>
    Effect.gen(function* () {
      for (const format of ["F32", "F16", "BF16"] as const) {
        const path = join(folder, `${format}.safetensors`);
        yield* Safetensors.write(path, example, { format, metadata: { step: "12" } });
        const file = yield* Safetensors.read(path);
        expect(file.format).toBe(format);
        expect(file.metadata.get("step")).toBe("12");
        expect(new Map(file.tensors)).toEqual(example);
      }
    }),
  );

  it.effect("starts its data at a multiple of eight bytes", () =>
    Effect.gen(function* () {
      const path = join(folder, "aligned.safetensors");
      yield* Safetensors.write(path, example);
      const { dataStart } = yield* Safetensors.readHeader(path);
      expect(dataStart % 8).toBe(0);
    }),
  );

  it("holds what each format keeps of any values", async () => {
    await assertProperty(
      fc.asyncProperty(
        fc.constantFrom("F32" as const, "F16" as const, "BF16" as const),
        fc.array(fc.float32Array({ maxLength: 20, noNaN: true, min: -65000, max: 65000 }), { maxLength: 4 }),
        async (format, arrays) => {
          const path = join(folder, "property.safetensors");
          const tensors = new Map(arrays.map((data, i) => [`t${i}`, { shape: [data.length], data }]));
          await Effect.runPromise(Safetensors.write(path, tensors, { format }));
          const file = await Effect.runPromise(Safetensors.read(path));
          arrays.forEach((data, i) => {
            assert.deepStrictEqual(
              file.tensors.get(`t${i}`)?.data,
              data.map((value) => round(format, value)),
            );
          });
        },
      ),
      { numRuns: 40 },
    );
  });

  it.effect("replaces the old one only when whole: a refused write leaves it and no partial file", () =>
    Effect.gen(function* () {
      const path = join(folder, "kept", "model.safetensors");
      yield* Safetensors.write(path, example);
      const before = yield* Effect.promise(() => readFile(path));
      const tooLarge = new Map([["big", { shape: [2], data: Float32Array.of(1, 70000) }]]);
      const error = yield* Effect.flip(Safetensors.write(path, tooLarge, { format: "F16" }));
      expect(error.reason).toBe("overflow");
      expect(error.message).toContain('"big" holds 70000');
      expect(yield* Effect.promise(() => readFile(path))).toEqual(before);
      expect(yield* Effect.promise(() => readdir(join(folder, "kept")))).toEqual(["model.safetensors"]);
    }),
  );

  it.effect.each([Number.NaN, Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY])(
    "never holds %d, in any format",
    (bad) =>
      Effect.gen(function* () {
        const path = join(folder, "finite", "model.safetensors");
        const tensors = new Map(example).set("b", { shape: [3], data: Float32Array.of(1, 2, bad) });
        for (const format of ["F32", "F16", "BF16"] as const) {
          const error = yield* Effect.flip(Safetensors.write(path, tensors, { format }));
          expect([error.reason, error.message]).toEqual([
            "not_finite",
            `${path}: tensor "b" holds ${bad} at index 2; every value must be a finite number`,
          ]);
          expect(yield* Effect.promise(() => readdir(join(folder, "finite")))).toEqual([]);
        }
      }),
  );

  it.effect("refuses values that do not fill the shape", () =>
    Effect.gen(function* () {
      const wrong = new Map([["w", { shape: [2, 2], data: new Float32Array(3) }]]);
      const error = yield* Effect.flip(Safetensors.write(join(folder, "wrong.safetensors"), wrong));
      expect(error.reason).toBe("wrong_shape");
    }),
  );

  it.effect("cut at any byte is refused as truncated", () =>
    Effect.gen(function* () {
      const whole = join(folder, "whole.safetensors");
      yield* Safetensors.write(whole, example);
      const bytes = yield* Effect.promise(() => readFile(whole));
      const cut = join(folder, "cut.safetensors");
      for (let length = 0; length < bytes.length; length += 5) {
        yield* Effect.promise(() => writeFile(cut, bytes.subarray(0, length)));
        const error = yield* Effect.flip(Safetensors.read(cut));
        expect([length, error.reason, error.path]).toEqual([length, "truncated", cut]);
      }
    }),
  );
});

describe("a file with a value that is not finite", () => {
  const sevens = new Map<string, Safetensors.Tensor>(
    ["a", "b", "c"].map((name) => [name, { shape: [2, 3], data: new Float32Array(6).fill(7) }]),
  );
  const nans = { F32: [0, 0, 0xc0, 0x7f], F16: [0, 0x7e], BF16: [0xc0, 0xff] } as const;
  const infinities = { F32: [0, 0, 0x80, 0xff], F16: [0, 0xfc], BF16: [0x80, 0xff] } as const;

  it.effect.each([
    { shown: "NaN", bits: nans },
    { shown: "-Infinity", bits: infinities },
  ])("is refused with the tensor and the index: $shown", ({ bits, shown }) =>
    Effect.gen(function* () {
      for (const format of ["F32", "F16", "BF16"] as const) {
        const path = join(folder, `poisoned-${format}.safetensors`);
        yield* Safetensors.write(path, sevens, { format });
        const { dataStart } = yield* Safetensors.readHeader(path);
        const bytes = yield* Effect.promise(() => readFile(path));
        bytes.set(bits[format], dataStart + 10 * bits[format].length);
        yield* Effect.promise(() => writeFile(path, bytes));
        const error = yield* Effect.flip(Safetensors.read(path));
        expect([error.reason, error.message]).toEqual([
          "not_finite",
          `${path}: tensor "b" holds ${shown} at index 4; every value must be a finite number`,
        ]);
      }
    }),
  );
});

describe("a faulty file", () => {
  const cases: readonly (readonly [string, Uint8Array, string, string])[] = [
    ["not JSON", crafted("{oops", 0), "bad_header", "not JSON"],
    ["a list as header", crafted("[]", 0), "bad_header", "not a JSON object"],
    ["an absurd header length", new Uint8Array(16).fill(0x7f), "bad_header", "is this a safetensors file"],
    [
      "an unknown dtype",
      crafted(JSON.stringify({ w: entry("I64", [1], [0, 8]) }), 8),
      "unknown_dtype",
      '"w" has dtype "I64"',
    ],
    [
      "a negative size",
      crafted(JSON.stringify({ w: entry("F32", [-1], [0, 4]) }), 4),
      "bad_header",
      '"w" has shape [-1]',
    ],
    [
      "offsets that do not fit the shape",
      crafted(JSON.stringify({ w: entry("F32", [2], [0, 4]) }), 4),
      "bad_offsets",
      "needs 8 bytes",
    ],
    [
      "offsets beyond the file",
      crafted(JSON.stringify({ w: entry("F32", [2], [0, 8]) }), 4),
      "truncated",
      '"w" ends at byte',
    ],
    [
      "reversed offsets",
      crafted(JSON.stringify({ w: entry("F32", [1], [4, 0]) }), 4),
      "bad_offsets",
      '"w" has data_offsets [4,0]',
    ],
    [
      "overlapping tensors",
      crafted(JSON.stringify({ v: entry("F32", [1], [0, 4]), w: entry("F32", [1], [2, 6]) }), 6),
      "bad_offsets",
      '"w" overlaps',
    ],
    [
      "a gap between tensors",
      crafted(JSON.stringify({ v: entry("F32", [1], [0, 4]), w: entry("F32", [1], [8, 12]) }), 12),
      "bad_offsets",
      "gap of 4 bytes",
    ],
    [
      "bytes that belong to no tensor",
      crafted(JSON.stringify({ w: entry("F32", [1], [0, 4]) }), 9),
      "bad_offsets",
      "5 bytes",
    ],
  ];
  it.effect.each(cases)("with %s is refused with its name and fault", ([, bytes, reason, words]) =>
    Effect.gen(function* () {
      const path = join(folder, "faulty.safetensors");
      yield* Effect.promise(() => writeFile(path, bytes));
      const error = yield* Effect.flip(Safetensors.read(path));
      expect(error.reason).toBe(reason);
      expect(error.message).toContain(path);
      expect(error.message).toContain(words);
    }),
  );

  it.effect("that is missing, or a folder, is named", () =>
    Effect.gen(function* () {
      const missing = yield* Effect.flip(Safetensors.read(join(folder, "nowhere.safetensors")));
      expect(missing.reason).toBe("missing_file");
      const directory = yield* Effect.flip(Safetensors.read(folder));
      expect(directory.reason).toBe("not_readable");
      expect((yield* Effect.promise(() => stat(folder))).isDirectory()).toBe(true);
    }),
  );
});
