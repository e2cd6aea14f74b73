/**
 * Cuts a result into messages small enough for a broker, and assembles results from such parts. Each part names its lease, so that late or
 * foreign parts are refused before the result is whole. Invariants: a result is complete once, in whatever order and however often its
 * parts arrive; the memory of incomplete results is bounded.
 */
import { Schema } from "effect";
import { Lease } from "./Lease.ts";

const FORMAT = 1;
/** Four 32-bit numbers: format, index of the part, number of parts, bytes of the lease. */
const HEADER_BYTES = 4 * 4;
const MOST_PARTS = 4_096;
const LONGEST_LEASE = 512;

export interface Part {
  readonly lease: Lease;
  readonly index: number;
  readonly count: number;
  readonly bytes: Uint8Array;
}

export class BadPart extends Schema.TaggedError<BadPart>()("BadPart", { message: Schema.String }) {}

const json = Schema.fromJsonString(Lease);
const encodeLease = Schema.encodeSync(json);
const decodeLease = Schema.decodeUnknownSync(json);

/** Cuts a result into messages of at most `mostBytes`. Throws RangeError where a message is too small for any part. */
export const split = (lease: Lease, result: Uint8Array, mostBytes: number): readonly Uint8Array[] => {
  const leaseBytes = Buffer.from(encodeLease(lease));
  const room = mostBytes - HEADER_BYTES - leaseBytes.length;
  if (room < 1) throw new RangeError(`a message of ${mostBytes} bytes has no room for a part`);
  const count = Math.max(1, Math.ceil(result.length / room));
  return Array.from({ length: count }, (_, index) => {
    const head = Buffer.alloc(HEADER_BYTES);
    for (const [i, value] of [FORMAT, index, count, leaseBytes.length].entries()) head.writeUInt32LE(value, 4 * i);
    return Buffer.concat([head, leaseBytes, result.subarray(index * room, (index + 1) * room)]);
  });
};

/** Reads one message. Throws BadPart. */
export const read = (message: Uint8Array): Part => {
  const bytes = Buffer.from(message.buffer, message.byteOffset, message.byteLength);
  const bad = (why: string): BadPart => new BadPart({ message: why });
  if (bytes.length < HEADER_BYTES) throw bad("it is too short for a part of a result");
  const [form, index, count, leaseLength] = [0, 4, 8, 12].map((at) => bytes.readUInt32LE(at)) as [
    number,
    number,
    number,
    number,
  ];
  if (form !== FORMAT) throw bad(`its form is ${form}, and not ${FORMAT}`);
  if (count < 1 || count > MOST_PARTS || index >= count) throw bad(`it is part ${index} of ${count}`);
  if (leaseLength > LONGEST_LEASE || HEADER_BYTES + leaseLength > bytes.length) throw bad("it does not name its lease");
  try {
    const lease = decodeLease(bytes.toString("utf8", HEADER_BYTES, HEADER_BYTES + leaseLength));
    return { lease, index, count, bytes: bytes.subarray(HEADER_BYTES + leaseLength) };
  } catch {
    throw bad("it does not name its lease");
  }
};

/** A result with all its parts, and the marks that arrived with them. */
export interface AssembledResult<Mark> {
  readonly lease: Lease;
  readonly bytes: Uint8Array;
  readonly marks: readonly Mark[];
}

interface IncompleteResult<Mark> {
  readonly lease: Lease;
  readonly parts: (Uint8Array | undefined)[];
  readonly marks: Mark[];
  missing: number;
  bytes: number;
}

export type PartOutcome<Mark> =
  | { readonly _tag: "Incomplete" }
  | { readonly _tag: "Complete"; readonly result: AssembledResult<Mark> }
  /** The part does not fit those before it, or memory is full: the whole result is dropped, and its marks are returned. */
  | { readonly _tag: "Dropped"; readonly marks: readonly Mark[] };

/** `Mark` is a value that comes with a part, such as the means to acknowledge it; the caller gets the marks back with the result. */
export class ResultAssembler<Mark> {
  readonly #mostBytes: number;
  readonly #incomplete = new Map<string, IncompleteResult<Mark>>();
  #bytes = 0;

  /** Incomplete results may take `mostBytes` in all. */
  constructor(mostBytes: number) {
    this.#mostBytes = mostBytes;
  }

  get bytes(): number {
    return this.#bytes;
  }

  /** Adds a part. `sender` keeps apart the results of two workers that name the same lease. */
  add(sender: string, part: Part, mark: Mark): PartOutcome<Mark> {
    const { count, index, lease } = part;
    if (count === 1) return { _tag: "Complete", result: { lease, bytes: part.bytes, marks: [mark] } };
    const key = `${sender} ${lease.epoch} ${lease.group} ${lease.ticket} ${lease.delivery}`;
    const incomplete = this.#incomplete.get(key) ?? this.#begin(key, lease, count);
    incomplete.marks.push(mark);
    const grown = this.#bytes + part.bytes.length;
    if (incomplete.parts.length !== count || grown > this.#mostBytes) {
      this.#end(key, incomplete);
      return { _tag: "Dropped", marks: incomplete.marks };
    }
    if (incomplete.parts[index] !== undefined) return { _tag: "Incomplete" };
    incomplete.parts[index] = part.bytes;
    incomplete.bytes += part.bytes.length;
    incomplete.missing--;
    this.#bytes = grown;
    if (incomplete.missing > 0) return { _tag: "Incomplete" };
    this.#end(key, incomplete);
    const bytes = Buffer.concat(incomplete.parts.flatMap((bytes) => (bytes === undefined ? [] : [bytes])));
    return { _tag: "Complete", result: { lease, bytes, marks: incomplete.marks } };
  }

  /** Drops the incomplete results of a group that needs none any more. Returns the marks of their parts. */
  discard(group: number): readonly Mark[] {
    const dropped = [...this.#incomplete].filter(([, { lease }]) => lease.group === group);
    for (const [key, incomplete] of dropped) this.#end(key, incomplete);
    return dropped.flatMap(([, { marks }]) => marks);
  }

  #begin(key: string, lease: Lease, count: number): IncompleteResult<Mark> {
    // The list of parts takes memory, too.
    const bytes = 8 * count;
    const incomplete: IncompleteResult<Mark> = {
      lease,
      parts: new Array(count).fill(undefined),
      marks: [],
      missing: count,
      bytes,
    };
    this.#incomplete.set(key, incomplete);
    this.#bytes += bytes;
    return incomplete;
  }

  #end(key: string, { bytes }: IncompleteResult<Mark>): void {
    this.#incomplete.delete(key);
    this.#bytes -= bytes;
  }
}
