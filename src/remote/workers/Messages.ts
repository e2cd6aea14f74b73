/**
 * What learner and workers say to each other beside results, as JSON. Every message is decoded by its schema where it comes in, and none
 * is longer than `longest`. Invariant: nobody decides anything by another machine's clock, so no message carries a time.
 */
import { Schema } from "effect";
import { Count } from "../../domain/Count.ts";
import { Lease } from "./Lease.ts";

/** What is told below, and the form of results. Learner and workers have the same one. */
export const PROTOCOL = 1;

const text = (most: number) => Schema.String.check(Schema.isMaxLength(most));
const positive = Schema.Int.check(Schema.isBetween({ minimum: 1, maximum: 1_000_000 }));
const Epoch = Lease.fields.epoch;

/** A run as a worker needs to know it before it joins. */
export const About = Schema.Struct({
  protocol: Schema.Int,
  /** Version of the learner's program, for messages. */
  program: text(64),
  run: text(200),
  epoch: Epoch,
  /** No group of this epoch will be offered any more; `complete` when the run is over, not only this start of it. */
  ended: Schema.Boolean,
  /** The run file as the learner decoded it. */
  config: Schema.Unknown,
  /** Where model and weights are: an address of HTTP. */
  files: text(2_000),
  /** `adapter`: the model's folder is the base, and versions are adapters beside it. `full`: each version is a whole model. */
  kind: Schema.Literals(["full", "adapter"]),
  leaseMs: positive,
  /** Workers whose results were refused too often: they are to end. */
  shutOut: Schema.optionalKey(Schema.Array(text(64))),
});
export type About = typeof About.Type;

/** The newest version of the weights that can be fetched. */
export const Announced = Schema.Struct({ epoch: Epoch, version: Count });
export type Announced = typeof Announced.Type;

/** A lease as the broker keeps it: what to play, and the ticket. */
export const Work = Schema.Struct({
  protocol: Schema.Int,
  epoch: Epoch,
  ticket: Lease.fields.ticket,
  prompt: Schema.Struct({
    group: Count,
    tag: text(200),
    seed: Schema.Int,
    size: positive,
    admittedAt: Count,
    urgent: Schema.optionalKey(Schema.Literal(true)),
  }),
});
export type Work = typeof Work.Type;

/** What a worker says of itself every second, and when it takes or ends a lease. */
export const Gauges = Schema.Struct({
  epoch: Epoch,
  /** Episodes that it can play at once, and groups that it takes for that. */
  slots: positive,
  groups: positive,
  version: Count,
  tokensPerSecond: Schema.Finite.check(Schema.isBetween({ minimum: 0, maximum: 1e12 })),
  /** How many leases it holds. */
  playing: Count,
  /** Those it has taken since it spoke last; once in the time of a lease, all that it holds. */
  leases: Schema.Array(Lease).check(Schema.isMaxLength(65_536)),
  /** It takes no lease any more, and holds none. */
  leaves: Schema.Boolean,
});
export type Gauges = typeof Gauges.Type;

/** Who trains what, told to whoever asks on the broker. */
export const Present = Schema.Struct({ run: text(200), epoch: Epoch });
export type Present = typeof Present.Type;

const longest = 2 ** 20;

export class BadMessage extends Schema.TaggedError<BadMessage>()("BadMessage", { message: Schema.String }) {}

export interface Form<A> {
  readonly encode: (value: A) => Uint8Array;
  /** Throws BadMessage. */
  readonly decode: (bytes: Uint8Array) => A;
}

const form = <A, I>(name: string, schema: Schema.Codec<A, I>): Form<A> => {
  const codec = Schema.fromJsonString(schema);
  const encode = Schema.encodeSync(codec);
  const decode = Schema.decodeUnknownSync(codec);
  return {
    encode: (value) => new TextEncoder().encode(encode(value)),
    decode: (bytes) => {
      if (bytes.byteLength > longest) throw new BadMessage({ message: `${name} of ${bytes.byteLength} bytes` });
      try {
        return decode(new TextDecoder().decode(bytes));
      } catch {
        throw new BadMessage({ message: `it is not ${name}` });
      }
    },
  };
};

export const about = form("a description of a run", About);
export const announced = form("an announcement of weights", Announced);
export const work = form("a lease", Work);
export const gauges = form("a worker's gauges", Gauges);
export const present = form("a run's name", Present);
