/**
 * A played group as bytes, for its way from a worker to the learner: texts as JSON, every number of a token or a reward as binary, all of it
 * compressed. Invariants: what is written and read again has the same bits; whatever the bytes are, reading ends in a group of the right
 * form or in `BadGroup`, and takes no more memory than `mostBytes`.
 */
import { promisify } from "node:util";
import { constants, zstdCompress, zstdDecompressSync } from "node:zlib";
import { Effect, Schema } from "effect";
import type { Episode, Sampled, Sequence, Turn } from "../../domain/Episode.ts";
import type { Group, Prompt } from "../../domain/Group.ts";

/** Version of the form. */
const FORM = 1;
/** Longest group in memory. */
const mostBytes = 2 ** 27;
/** Of the form, the JSON's bytes, and the numbers of each of the three kinds. */
const HEAD = 5 * 4;

export class BadGroup extends Schema.TaggedError<BadGroup>()("BadGroup", { message: Schema.String }) {}

const Length = Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 2 ** 24 }));
const Penalty = Schema.Literals(["format", "step", "thought_quality", "thought_length", "thought_coordinates"]);

const TurnText = Schema.Struct({
  /** Ids of the prompt, and sampled ones. */
  prompt: Length,
  sampled: Length,
  finish: Schema.Literals(["stop", "length"]),
  state: Schema.String,
  reply: Schema.String,
  parsed: Schema.Boolean,
  thought: Schema.optionalKey(Schema.Tuple([Length, Length])),
  actions: Schema.Array(Schema.String),
  executed: Length,
  penalties: Schema.optionalKey(Schema.Array(Penalty)),
  info: Schema.Array(Schema.String),
});
type TurnText = typeof TurnText.Type;

const Outcome = Schema.Union([
  Schema.TaggedStruct("Done", { success: Schema.Boolean }),
  Schema.TaggedStruct("Truncated", {
    reason: Schema.Literals(["environment", "max_actions", "max_turn", "context"]),
    success: Schema.Boolean,
  }),
  Schema.TaggedStruct("Failed", {
    reason: Schema.Literals(["step_timeout", "step_crashed", "step_quarantined", "step_error", "stopped"]),
    message: Schema.String,
  }),
]);

const GroupText = Schema.Struct({
  heldOut: Schema.optionalKey(Schema.Literal(true)),
  episodes: Schema.Array(
    Schema.Struct({
      seed: Schema.Int,
      outcome: Outcome,
      final: Schema.optionalKey(Schema.String),
      sequences: Schema.Array(
        Schema.Struct({
          summary: Schema.optionalKey(Schema.Struct({ trained: Schema.Boolean })),
          turns: Schema.Array(TurnText),
        }),
      ),
    }),
  ),
});
export type GroupText = typeof GroupText.Type;

const decodeText = Schema.decodeUnknownSync(Schema.fromJsonString(GroupText));

/** All numbers of one kind, one after the other. */
class Numbers {
  readonly ints: number[] = [];
  readonly floats: number[] = [];
  readonly doubles: number[] = [];
}

const textOf = (turn: Turn, numbers: Numbers): TurnText => {
  const { actions, executed, info, parsed, penalties, prompt, reply, sampled, state, thought } = turn;
  // Not by spreading: a prompt may have more ids than a call takes arguments.
  for (const ids of [prompt, sampled.ids, sampled.versions]) for (const id of ids) numbers.ints.push(id);
  for (const values of [sampled.mu, sampled.entropies]) for (const value of values) numbers.floats.push(value);
  const named = Object.entries(penalties ?? {});
  numbers.doubles.push(turn.reward, turn.penalty, ...named.map(([, value]) => value), ...Object.values(info));
  const text = {
    prompt: prompt.length,
    sampled: sampled.ids.length,
    finish: sampled.finish,
    state,
    reply,
    parsed,
    actions,
    executed,
    info: Object.keys(info),
  };
  return {
    ...text,
    ...(thought === undefined ? {} : { thought }),
    ...(penalties === undefined ? {} : { penalties: named.map(([name]) => Schema.decodeUnknownSync(Penalty)(name)) }),
  };
};

const groupText = ({ episodes, heldOut }: Group, numbers: Numbers): GroupText => ({
  ...(heldOut === true ? { heldOut } : {}),
  episodes: episodes.map(({ final, outcome, seed, sequences }) => ({
    seed,
    outcome,
    ...(final === undefined ? {} : { final }),
    sequences: sequences.map(({ summary, turns }) => ({
      ...(summary === undefined ? {} : { summary }),
      turns: turns.map((turn) => textOf(turn, numbers)),
    })),
  })),
});

const bytesOf = ({ buffer, byteLength, byteOffset }: ArrayBufferView): Buffer =>
  Buffer.from(buffer, byteOffset, byteLength);

const compress = promisify(zstdCompress);

/** A group as bytes. */
export const encode = (group: Group): Effect.Effect<Uint8Array> =>
  Effect.promise(() => {
    const numbers = new Numbers();
    const json = Buffer.from(JSON.stringify(groupText(group, numbers)));
    const { doubles, floats, ints } = numbers;
    const head = Uint32Array.of(FORM, json.length, ints.length, floats.length, doubles.length);
    const arrays = [head, json, Int32Array.from(ints), Float32Array.from(floats), Float64Array.from(doubles)];
    return compress(Buffer.concat(arrays.map(bytesOf)), { params: { [constants.ZSTD_c_compressionLevel]: 3 } });
  });

/** Reads numbers from the front on; what is asked for beyond the end is `BadGroup`. */
class Reader<A extends Int32Array | Float32Array | Float64Array> {
  readonly #all: A;
  #at = 0;

  constructor(all: A) {
    this.#all = all;
  }

  /** A view of the group's numbers: a buffer for each reply would cost as much as everything else here. Nobody hands one of them on. */
  take(length: number): A {
    const from = this.#at;
    this.#at += length;
    if (this.#at > this.#all.length) throw new BadGroup({ message: "it has fewer numbers than it says" });
    return this.#all.subarray(from, this.#at) as A;
  }

  end(): void {
    if (this.#at !== this.#all.length) throw new BadGroup({ message: "it has more numbers than it says" });
  }
}

interface Readers {
  readonly ints: Reader<Int32Array>;
  readonly floats: Reader<Float32Array>;
  readonly doubles: Reader<Float64Array>;
}

const named = <Name extends string>(names: readonly Name[], { doubles }: Readers): Readonly<Record<Name, number>> => {
  const values = doubles.take(names.length);
  // Not by assignment: a name may be one that every object has.
  return Object.fromEntries(names.map((name, i) => [name, values[i]!])) as Readonly<Record<Name, number>>;
};

const turnOf = (text: TurnText, readers: Readers): Turn => {
  const { floats, ints, doubles } = readers;
  const { finish, info, penalties, prompt, sampled: tokens, thought, ...rest } = text;
  const ids = ints.take(prompt);
  const sampled: Sampled = {
    ids: ints.take(tokens),
    versions: ints.take(tokens),
    mu: floats.take(tokens),
    entropies: floats.take(tokens),
    finish,
  };
  const [reward, penalty] = doubles.take(2);
  return {
    ...rest,
    prompt: ids,
    sampled,
    ...(thought === undefined ? {} : { thought }),
    reward: reward!,
    penalty: penalty!,
    ...(penalties === undefined ? {} : { penalties: named(penalties, readers) }),
    info: named(info, readers),
  };
};

/** A group's parts: its text, and all of its numbers in one piece, which a thread hands on as it is. */
export interface Opened {
  readonly text: GroupText;
  /** Doubles, then floats, then ints. */
  readonly numbers: ArrayBuffer;
  readonly counts: { readonly doubles: number; readonly floats: number; readonly ints: number };
}

const readersOf = ({ counts: { doubles, floats, ints }, numbers }: Opened): Readers => ({
  doubles: new Reader(new Float64Array(numbers, 0, doubles)),
  floats: new Reader(new Float32Array(numbers, 8 * doubles, floats)),
  ints: new Reader(new Int32Array(numbers, 8 * doubles + 4 * floats, ints)),
});

/** The group that the parts are. Throws BadGroup where there are fewer numbers or more than the text says. */
export const groupOf = (opened: Opened, prompt: Prompt): Group => {
  const { text } = opened;
  const readers = readersOf(opened);
  const episodes = text.episodes.map(
    ({ final, outcome, seed, sequences }, member): Episode => ({
      id: { group: prompt.group, member },
      tag: prompt.tag,
      seed,
      sequences: sequences.map(
        ({ summary, turns }): Sequence => ({
          turns: turns.map((turn) => turnOf(turn, readers)),
          ...(summary === undefined ? {} : { summary }),
        }),
      ),
      outcome,
      ...(final === undefined ? {} : { final }),
    }),
  );
  for (const reader of [readers.ints, readers.floats, readers.doubles]) reader.end();
  return text.heldOut === true ? { prompt, episodes, heldOut: true } : { prompt, episodes };
};

/** The parts of decompressed bytes. Throws BadGroup, or what the schema throws. */
const parts = (bytes: Buffer): Opened => {
  if (bytes.length < HEAD) throw new BadGroup({ message: "it is too short" });
  const at = (index: number): number => bytes.readUInt32LE(4 * index);
  if (at(0) !== FORM) throw new BadGroup({ message: `its form is ${at(0)}, and not ${FORM}` });
  const [json, ints, floats, doubles] = [at(1), at(2), at(3), at(4)];
  if (HEAD + json + 4 * ints + 4 * floats + 8 * doubles !== bytes.length) {
    throw new BadGroup({ message: "its parts do not add up to its length" });
  }
  const text = decodeText(bytes.toString("utf8", HEAD, HEAD + json));
  const numbers = new Uint8Array(bytes.length - HEAD - json);
  const from = HEAD + json;
  const [afterInts, afterFloats] = [from + 4 * ints, from + 4 * (ints + floats)];
  numbers.set(bytes.subarray(afterFloats), 0);
  numbers.set(bytes.subarray(afterInts, afterFloats), 8 * doubles);
  numbers.set(bytes.subarray(from, afterInts), 8 * doubles + 4 * floats);
  return { text, numbers: numbers.buffer, counts: { doubles, floats, ints } };
};

const unreadable = (cause: unknown): BadGroup =>
  cause instanceof BadGroup
    ? cause
    : new BadGroup({
        message: `it cannot be read: ${cause instanceof Error ? cause.message.split("\n")[0] : cause}`,
      });

/** The parts that the bytes hold. Throws BadGroup. It takes a millisecond of a short group: not for a thread that others wait for. */
export const open = (bytes: Uint8Array): Opened => {
  try {
    return parts(zstdDecompressSync(bytes, { maxOutputLength: mostBytes }));
  } catch (cause) {
    throw unreadable(cause);
  }
};

/** The group of `prompt` that the bytes hold. What it says is not judged here (`examine`), only its form. */
export const decode = (bytes: Uint8Array, prompt: Prompt): Effect.Effect<Group, BadGroup> =>
  Effect.try({ try: () => groupOf(open(bytes), prompt), catch: unreadable });
