/**
 * Builds WebAssembly in binary form: expressions, statements, and a module around one memory and its functions. It knows the few
 * instructions that loops over packed numbers need (WebAssembly core 2.0, fixed-width SIMD). Invariant: a `Code` leaves on the stack
 * exactly what its docstring says.
 */

/** Bytes of instructions. */
export type Code = readonly number[];

/** Unsigned LEB128. */
const unsigned = (value: number): Code => {
  const bytes: number[] = [];
  let rest = value;
  do {
    const low = rest & 0x7f;
    rest >>>= 7;
    bytes.push(rest === 0 ? low : low | 0x80);
  } while (rest !== 0);
  return bytes;
};

/** Signed LEB128 of a number that is not negative. */
const signed = (value: number): Code => {
  const bytes = [...unsigned(value)];
  const last = bytes.length - 1;
  // The sixth bit of the last byte is the sign.
  return (bytes[last]! & 0x40) === 0 ? bytes : [...bytes.slice(0, last), bytes[last]! | 0x80, 0];
};

const vector = (items: readonly Code[]): Code => [...unsigned(items.length), ...items.flat()];
const sized = (bytes: Code): Code => [...unsigned(bytes.length), ...bytes];
const simd = (opcode: number, ...operands: readonly Code[]): Code => [...operands.flat(), 0xfd, ...unsigned(opcode)];

/** Pushes a local's value. */
export const get = (local: number): Code => [0x20, ...unsigned(local)];
/** Pops `value` into a local. */
export const set = (local: number, value: Code): Code => [...value, 0x21, ...unsigned(local)];
/** Pushes an i32 of at least 0. */
export const i32 = (value: number): Code => [0x41, ...signed(value)];

/** Each pushes an i32. */
export const add32 = (a: Code, b: Code): Code => [...a, ...b, 0x6a];
export const and32 = (a: Code, b: Code): Code => [...a, ...b, 0x71];
export const shiftLeft32 = (a: Code, bits: number): Code => [...a, ...i32(bits), 0x74];
/** Pushes a float64. */
export const f64 = (value: number): Code => [0x44, ...new Uint8Array(Float64Array.of(value).buffer)];

/** Each pushes a v128 of four float32. */
export const splat = (value: Code): Code => simd(0x13, value);
export const add = (a: Code, b: Code): Code => simd(0xe4, a, b);
export const sub = (a: Code, b: Code): Code => simd(0xe5, a, b);
export const mul = (a: Code, b: Code): Code => simd(0xe6, a, b);
export const div = (a: Code, b: Code): Code => simd(0xe7, a, b);
export const sqrt = (a: Code): Code => simd(0xe3, a);
/**
 * Pushes the larger magnitudes of `a`, which is not negative, and `b`. Bits of magnitudes are ordered as integers: numbers, infinity, NaN.
 * So nothing that is not finite is lost.
 */
export const largest = (a: Code, b: Code): Code => simd(0xb9, a, simd(0xe0, b));

/** Each pushes `b` where it is larger or smaller than `a`, otherwise `a`. A NaN in `b` is lost. */
export const larger = (a: Code, b: Code): Code => simd(0xeb, a, b);
export const smaller = (a: Code, b: Code): Code => simd(0xea, a, b);
/** Each pushes four masks: all bits of a number are 1 where the comparison holds. */
export const atLeast = (a: Code, b: Code): Code => simd(0x46, a, b);
export const notEqual = (a: Code, b: Code): Code => simd(0x42, a, b);

/** Each pushes a v128 of two float64, or two masks. */
export const f64x2 = {
  splat: (value: Code): Code => simd(0x14, value),
  add: (a: Code, b: Code): Code => simd(0xf0, a, b),
  sub: (a: Code, b: Code): Code => simd(0xf1, a, b),
  mul: (a: Code, b: Code): Code => simd(0xf2, a, b),
  atLeast: (a: Code, b: Code): Code => simd(0x4c, a, b),
  /** Converts the lower two of four float32. */
  fromFloat32: (value: Code): Code => simd(0x5f, value),
} as const;

/** Each pushes a v128 of two int64. */
export const i64x2 = {
  add: (a: Code, b: Code): Code => simd(0xce, a, b),
  shiftLeft: (a: Code, bits: number): Code => simd(0xcb, a, i32(bits)),
} as const;

export const and = (a: Code, b: Code): Code => simd(0x4e, a, b);
export const or = (a: Code, b: Code): Code => simd(0x50, a, b);
/** Pushes an i32: 1 if any bit of the v128 is 1. */
export const anyTrue = (value: Code): Code => simd(0x53, value);
/** Pushes an i32: 1 if each of the four numbers has a bit that is 1. */
export const allTrue = (value: Code): Code => simd(0xa3, value);
/** Pushes the i32 at one of the four places of a v128. */
export const lane32 = (value: Code, lane: 0 | 1 | 2 | 3): Code => [...simd(0x1b, value), lane];

const ALIGN_8 = 3;
const ALIGN_16 = 4;
/** Pushes a v128: its lower half is the 8 bytes at the address plus `offset`, its upper half is 0. */
export const loadLow = (address: Code, offset: number): Code => [...simd(0x5d, address), ALIGN_8, ...unsigned(offset)];
/** Pushes the v128 `value` with the 8 bytes at the address plus `offset` as its upper half. */
export const loadHigh = (address: Code, offset: number, value: Code): Code => [
  ...simd(0x57, address, value),
  ALIGN_8,
  ...unsigned(offset),
  1,
];
/** Pushes the v128 at the address plus `offset`. */
export const load = (address: Code, offset: number): Code => [...simd(0x00, address), ALIGN_16, ...unsigned(offset)];
/** Writes the v128 `value` to the address plus `offset`. */
export const store = (address: Code, offset: number, value: Code): Code => [
  ...simd(0x0b, address, value),
  ALIGN_16,
  ...unsigned(offset),
];

/** Runs `body` and adds `step` to the local, as long as it is below the local `end`; at least once. */
export const repeat = (local: number, end: number, step: number, body: Code): Code => [
  ...[0x03, 0x40],
  ...body,
  ...set(local, add32(get(local), i32(step))),
  ...get(local),
  ...get(end),
  ...[0x49, 0x0d, 0],
  0x0b,
];

/** Runs `body` with the local going from 0 in steps of 16 while it is below the local `end`; at least once. */
export const every16 = (local: number, end: number, body: Code): Code => [
  ...set(local, i32(0)),
  ...repeat(local, end, 16, body),
];

/** Runs `body` if the i32 `condition` is not 0, otherwise `otherwise`. */
export const when = (condition: Code, body: Code, otherwise: Code = []): Code => [
  ...condition,
  ...[0x04, 0x40],
  ...body,
  ...(otherwise.length === 0 ? [] : [0x05, ...otherwise]),
  0x0b,
];

const TYPE = { i32: 0x7f, f32: 0x7d, f64: 0x7c, v128: 0x7b } as const;
type ValueType = keyof typeof TYPE;

/** Numbers the locals of a function, parameters first. */
export const numbered = <Name extends string>(names: readonly Name[]): Readonly<Record<Name, number>> =>
  Object.fromEntries(names.map((name, index) => [name, index])) as Record<Name, number>;

export interface WasmFunction {
  readonly name: string;
  readonly parameters: readonly ValueType[];
  /** Types of the locals after the parameters. */
  readonly locals: readonly ValueType[];
  readonly body: Code;
}

const section = (id: number, content: Code): Code => [id, ...sized(content)];
const named = (name: string): Code => sized([...new TextEncoder().encode(name)]);

/** A module whose functions return nothing and share one memory of `pages` of 64 KiB, exported as "memory". */
export const moduleOf = (functions: readonly WasmFunction[], pages: number): Uint8Array<ArrayBuffer> =>
  Uint8Array.from([
    ...[0x00, 0x61, 0x73, 0x6d, 1, 0, 0, 0],
    ...section(1, vector(functions.map(({ parameters }) => [0x60, ...vector(parameters.map((t) => [TYPE[t]])), 0]))),
    ...section(3, vector(functions.map((_, index) => unsigned(index)))),
    ...section(5, vector([[0, ...unsigned(pages)]])),
    ...section(
      7,
      vector([
        [...named("memory"), 2, 0],
        ...functions.map(({ name }, index) => [...named(name), 0, ...unsigned(index)]),
      ]),
    ),
    ...section(
      10,
      vector(
        functions.map(({ body, locals }) => sized([...vector(locals.map((type) => [1, TYPE[type]])), ...body, 0x0b])),
      ),
    ),
  ]);
