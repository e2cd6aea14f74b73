/**
 * A result in parts that a broker takes as messages, and its parts put together again. A part names its lease, so that one that is late or of
 * another run is known before the whole is there. Invariants: a result is given out once, when its last part has come, in whatever order and
 * however often they come; what unfinished results hold is bounded.
 */
import { Schema } from "effect";
import { Lease } from "./Lease.ts";

const FORM = 1;
/** Of the form, the part's number, the number of parts, and the length of the lease. */
const HEAD = 4 * 4;
const mostParts = 4_096;
const longestLease = 512;

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

/** The messages of a result, each of at most `most` bytes. */
export const split = (lease: Lease, result: Uint8Array, most: number): readonly Uint8Array[] => {
  const named = Buffer.from(encodeLease(lease));
  const room = most - HEAD - named.length;
  if (room < 1) throw new RangeError(`a message of ${most} bytes has no room for a part`);
  const count = Math.max(1, Math.ceil(result.length / room));
  return Array.from({ length: count }, (_, index) => {
    const head = Buffer.alloc(HEAD);
    for (const [i, value] of [FORM, index, count, named.length].entries()) head.writeUInt32LE(value, 4 * i);
    return Buffer.concat([head, named, result.subarray(index * room, (index + 1) * room)]);
  });
};

/** Reads one message. Throws BadPart. */
export const read = (message: Uint8Array): Part => {
  const bytes = Buffer.from(message.buffer, message.byteOffset, message.byteLength);
  const bad = (why: string): BadPart => new BadPart({ message: why });
  if (bytes.length < HEAD) throw bad("it is too short for a part of a result");
  const [form, index, count, named] = [0, 4, 8, 12].map((at) => bytes.readUInt32LE(at)) as [
    number,
    number,
    number,
    number,
  ];
  if (form !== FORM) throw bad(`its form is ${form}, and not ${FORM}`);
  if (count < 1 || count > mostParts || index >= count) throw bad(`it is part ${index} of ${count}`);
  if (named > longestLease || HEAD + named > bytes.length) throw bad("it does not name its lease");
  try {
    const lease = decodeLease(bytes.toString("utf8", HEAD, HEAD + named));
    return { lease, index, count, bytes: bytes.subarray(HEAD + named) };
  } catch {
    throw bad("it does not name its lease");
  }
};

/** A result whose parts are all there, with what came with each. */
export interface Whole<Mark> {
  readonly lease: Lease;
  readonly bytes: Uint8Array;
  readonly marks: readonly Mark[];
}

interface Unfinished<Mark> {
  readonly lease: Lease;
  readonly parts: (Uint8Array | undefined)[];
  readonly marks: Mark[];
  missing: number;
  bytes: number;
}

export type Added<Mark> =
  | { readonly _tag: "Kept" }
  | { readonly _tag: "Whole"; readonly whole: Whole<Mark> }
  /** There is no room for it, or it does not fit the parts before it: all of this result is given up, with what came with its parts. */
  | { readonly _tag: "GivenUp"; readonly marks: readonly Mark[] };

/** `Mark` is what comes with a part and is given back with the whole, as the means to acknowledge it. */
export class Assembly<Mark> {
  readonly #mostBytes: number;
  readonly #unfinished = new Map<string, Unfinished<Mark>>();
  #bytes = 0;

  /** Parts of unfinished results may have `mostBytes` together. */
  constructor(mostBytes: number) {
    this.#mostBytes = mostBytes;
  }

  get bytes(): number {
    return this.#bytes;
  }

  /** `sender` keeps results of two workers apart that name the same lease. */
  add(sender: string, part: Part, mark: Mark): Added<Mark> {
    const { count, index, lease } = part;
    if (count === 1) return { _tag: "Whole", whole: { lease, bytes: part.bytes, marks: [mark] } };
    const key = `${sender} ${lease.epoch} ${lease.group} ${lease.ticket} ${lease.delivery}`;
    const unfinished = this.#unfinished.get(key) ?? this.#begin(key, lease, count);
    unfinished.marks.push(mark);
    const grown = this.#bytes + part.bytes.length;
    if (unfinished.parts.length !== count || grown > this.#mostBytes) {
      this.#end(key, unfinished);
      return { _tag: "GivenUp", marks: unfinished.marks };
    }
    if (unfinished.parts[index] !== undefined) return { _tag: "Kept" };
    unfinished.parts[index] = part.bytes;
    unfinished.bytes += part.bytes.length;
    unfinished.missing--;
    this.#bytes = grown;
    if (unfinished.missing > 0) return { _tag: "Kept" };
    this.#end(key, unfinished);
    const bytes = Buffer.concat(unfinished.parts.flatMap((bytes) => (bytes === undefined ? [] : [bytes])));
    return { _tag: "Whole", whole: { lease, bytes, marks: unfinished.marks } };
  }

  /** Gives up the unfinished results of a group, which needs no result any more; what came with their parts. */
  giveUp(group: number): readonly Mark[] {
    const gone = [...this.#unfinished].filter(([, { lease }]) => lease.group === group);
    for (const [key, unfinished] of gone) this.#end(key, unfinished);
    return gone.flatMap(([, { marks }]) => marks);
  }

  #begin(key: string, lease: Lease, count: number): Unfinished<Mark> {
    // The list itself takes room, too.
    const bytes = 8 * count;
    const begun: Unfinished<Mark> = {
      lease,
      parts: new Array(count).fill(undefined),
      marks: [],
      missing: count,
      bytes,
    };
    this.#unfinished.set(key, begun);
    this.#bytes += bytes;
    return begun;
  }

  #end(key: string, { bytes }: Unfinished<Mark>): void {
    this.#unfinished.delete(key);
    this.#bytes -= bytes;
  }
}
