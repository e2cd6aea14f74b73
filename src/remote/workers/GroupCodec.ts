/**
 * Encodes a played group for its way from a worker to the learner: texts as JSON, numbers of tokens and rewards as binary, all of it
 * compressed. Invariants: decoding restores the same bits; any other bytes end in `BadGroup`, with no more memory than `MOST_BYTES`.
 */
import { promisify } from "node:util";
import { constants, zstdCompress, zstdDecompressSync } from "node:zlib";
import { Effect, Schema } from "effect";
import { AgentCallSchema } from "../../domain/AgentCall.ts";
import { type Episode, failureReasons, type Sampled, type Sequence, type Turn } from "../../domain/Episode.ts";
import type { Group, Prompt } from "../../domain/Group.ts";

/** Version of the encoding. */
const FORMAT = 2;
/** Longest decompressed group, bytes. */
const MOST_BYTES = 2 ** 27;
/** Five 32-bit numbers: format, bytes of the JSON, and the counts of ints, floats and doubles. */
const HEADER_BYTES = 5 * 4;

export class BadGroup extends Schema.TaggedError<BadGroup>()("BadGroup", { message: Schema.String }) {}

const Length = Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 2 ** 24 }));
const Penalty = Schema.Literals(["format", "step", "thought_quality", "thought_length", "thought_coordinates"]);

const TurnText = Schema.Struct({
  /** Counts of prompt ids and of sampled ids. */
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
  call: Schema.optionalKey(AgentCallSchema),
});
type TurnText = typeof TurnText.Type;

const Outcome = Schema.Union([
  Schema.TaggedStruct("Done", { success: Schema.Boolean }),
  Schema.TaggedStruct("Truncated", {
    reason: Schema.Literals(["environment", "max_actions", "max_turn", "context"]),
    success: Schema.Boolean,
  }),
  Schema.TaggedStruct("Failed", {
    reason: Schema.Literals(failureReasons),
    message: Schema.String,
  }),
]);

const GroupText = Schema.Struct({
  contentKey: Schema.optionalKey(Schema.String),
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
      discarded: Schema.optionalKey(Schema.Array(TurnText)),
    }),
  ),
});
export type GroupText = typeof GroupText.Type;

const decodeText = Schema.decodeUnknownSync(Schema.fromJsonString(GroupText));

/** The numbers of a group, by kind, in order of appearance. */
class NumberLists {
  readonly ints: number[] = [];
  readonly floats: number[] = [];
  readonly doubles: number[] = [];
}

const turnText = (turn: Turn, numbers: NumberLists): TurnText => {
  const { actions, call, executed, info, parsed, penalties, prompt, reply, sampled, state, thought } = turn;
  // Spreading would fail: a prompt may have more ids than a call takes arguments.
  for (const ids of [prompt, sampled.ids, sampled.versions]) for (const id of ids) numbers.ints.push(id);
  for (const values of [sampled.mu, sampled.entropies]) for (const value of values) numbers.floats.push(value);
  const penaltyEntries = Object.entries(penalties ?? {});
  numbers.doubles.push(turn.reward, turn.penalty, ...penaltyEntries.map(([, value]) => value), ...Object.values(info));
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
    ...(call === undefined ? {} : { call }),
    ...(penalties === undefined
      ? {}
      : { penalties: penaltyEntries.map(([name]) => Schema.decodeUnknownSync(Penalty)(name)) }),
  };
};

const groupText = ({ contentKey, episodes, heldOut }: Group, numbers: NumberLists): GroupText => ({
  ...(contentKey === undefined ? {} : { contentKey }),
  ...(heldOut === true ? { heldOut } : {}),
  episodes: episodes.map(({ discarded, final, outcome, seed, sequences }) => ({
    seed,
    outcome,
    ...(final === undefined ? {} : { final }),
    sequences: sequences.map(({ summary, turns }) => ({
      ...(summary === undefined ? {} : { summary }),
      turns: turns.map((turn) => turnText(turn, numbers)),
    })),
    ...(discarded === undefined ? {} : { discarded: discarded.map((turn) => turnText(turn, numbers)) }),
  })),
});

const bytesOf = ({ buffer, byteLength, byteOffset }: ArrayBufferView): Buffer =>
  Buffer.from(buffer, byteOffset, byteLength);

const compress = promisify(zstdCompress);

export const encode = (group: Group): Effect.Effect<Uint8Array> =>
  Effect.promise(() => {
    const numbers = new NumberLists();
    const json = Buffer.from(JSON.stringify(groupText(group, numbers)));
    const { doubles, floats, ints } = numbers;
    const head = Uint32Array.of(FORMAT, json.length, ints.length, floats.length, doubles.length);
    const arrays = [head, json, Int32Array.from(ints), Float32Array.from(floats), Float64Array.from(doubles)];
    return compress(Buffer.concat(arrays.map(bytesOf)), { params: { [constants.ZSTD_c_compressionLevel]: 3 } });
  });

/** Reads numbers in order. Throws BadGroup when there are fewer than asked for. */
class NumberReader<A extends Int32Array | Float32Array | Float64Array> {
  readonly #numbers: A;
  #position = 0;

  constructor(numbers: A) {
    this.#numbers = numbers;
  }

  /** Returns a view: one buffer for each reply would cost as much as all other work here. Nobody transfers these buffers. */
  take(length: number): A {
    const from = this.#position;
    this.#position += length;
    if (this.#position > this.#numbers.length) throw new BadGroup({ message: "it has fewer numbers than it says" });
    return this.#numbers.subarray(from, this.#position) as A;
  }

  end(): void {
    if (this.#position !== this.#numbers.length) throw new BadGroup({ message: "it has more numbers than it says" });
  }
}

interface NumberReaders {
  readonly ints: NumberReader<Int32Array>;
  readonly floats: NumberReader<Float32Array>;
  readonly doubles: NumberReader<Float64Array>;
}

const takeNamed = <Name extends string>(
  names: readonly Name[],
  { doubles }: NumberReaders,
): Readonly<Record<Name, number>> => {
  const values = doubles.take(names.length);
  // Assignment would be unsafe: a name may be one that every object has.
  return Object.fromEntries(names.map((name, i) => [name, values[i]!])) as Readonly<Record<Name, number>>;
};

const turnOf = (text: TurnText, readers: NumberReaders): Turn => {
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
    ...(penalties === undefined ? {} : { penalties: takeNamed(penalties, readers) }),
    info: takeNamed(info, readers),
  };
};

/** A decompressed group: its text, and all numbers in one buffer that a thread can transfer. */
export interface GroupParts {
  readonly text: GroupText;
  /** Doubles, then floats, then ints. */
  readonly numbers: ArrayBuffer;
  readonly counts: { readonly doubles: number; readonly floats: number; readonly ints: number };
}

const readersOf = ({ counts: { doubles, floats, ints }, numbers }: GroupParts): NumberReaders => ({
  doubles: new NumberReader(new Float64Array(numbers, 0, doubles)),
  floats: new NumberReader(new Float32Array(numbers, 8 * doubles, floats)),
  ints: new NumberReader(new Int32Array(numbers, 8 * doubles + 4 * floats, ints)),
});

/** Builds a group. Throws BadGroup if there are fewer or more numbers than the text says. */
export const assembleGroup = (parts: GroupParts, prompt: Prompt): Group => {
  const { text } = parts;
  const readers = readersOf(parts);
  const episodes = text.episodes.map(
    ({ discarded, final, outcome, seed, sequences }, member): Episode => ({
      id: { group: prompt.group, member },
      tag: prompt.tag,
      seed,
      sequences: sequences.map(
        ({ summary, turns }): Sequence => ({
          turns: turns.map((turn) => turnOf(turn, readers)),
          ...(summary === undefined ? {} : { summary }),
        }),
      ),
      ...(discarded === undefined ? {} : { discarded: discarded.map((turn) => turnOf(turn, readers)) }),
      outcome,
      ...(final === undefined ? {} : { final }),
    }),
  );
  for (const reader of [readers.ints, readers.floats, readers.doubles]) reader.end();
  const { contentKey, heldOut } = text;
  return {
    prompt,
    episodes,
    ...(contentKey === undefined ? {} : { contentKey }),
    ...(heldOut === undefined ? {} : { heldOut }),
  };
};

/** Cuts decompressed bytes. Throws BadGroup, or the schema's error. */
const partsOf = (bytes: Buffer): GroupParts => {
  if (bytes.length < HEADER_BYTES) throw new BadGroup({ message: "it is too short" });
  const header = (index: number): number => bytes.readUInt32LE(4 * index);
  if (header(0) !== FORMAT) throw new BadGroup({ message: `its form is ${header(0)}, and not ${FORMAT}` });
  const [json, ints, floats, doubles] = [header(1), header(2), header(3), header(4)];
  if (HEADER_BYTES + json + 4 * ints + 4 * floats + 8 * doubles !== bytes.length) {
    throw new BadGroup({ message: "its parts do not add up to its length" });
  }
  const text = decodeText(bytes.toString("utf8", HEADER_BYTES, HEADER_BYTES + json));
  const numbers = new Uint8Array(bytes.length - HEADER_BYTES - json);
  const from = HEADER_BYTES + json;
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

/** Decompresses and cuts a result. Throws BadGroup. A short group takes a millisecond, so this is not for the main thread. */
export const unpack = (bytes: Uint8Array): GroupParts => {
  try {
    return partsOf(zstdDecompressSync(bytes, { maxOutputLength: MOST_BYTES }));
  } catch (cause) {
    throw unreadable(cause);
  }
};

/** Decodes a group of `prompt`. Only its form is checked, not what it says (`groupFlaw.ts`). */
export const decode = (bytes: Uint8Array, prompt: Prompt): Effect.Effect<Group, BadGroup> =>
  Effect.try({ try: () => assembleGroup(unpack(bytes), prompt), catch: unreadable });
