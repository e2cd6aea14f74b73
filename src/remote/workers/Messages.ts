/**
 * The messages between a learner and its workers, as JSON; results have a form of their own. Each message is decoded by its schema on
 * arrival, and its length is limited. Invariant: no message carries a time, since nobody may decide anything by another machine's clock.
 */
import { Schema } from "effect";
import { Count } from "../../domain/Count.ts";
import { Lease } from "./Lease.ts";

/** Version of these messages and of the form of results; learner and workers must have the same. */
export const PROTOCOL = 1;

const text = (most: number) => Schema.String.check(Schema.isMaxLength(most));
const positive = Schema.Int.check(Schema.isBetween({ minimum: 1, maximum: 1_000_000 }));
const Epoch = Lease.fields.epoch;

/** A run, as workers know it before they join. */
export const RunDescription = Schema.Struct({
  protocol: Schema.Int,
  /** Version of the learner's program, for error messages. */
  program: text(64),
  run: text(200),
  epoch: Epoch,
  /** True once this epoch offers no more groups. */
  ended: Schema.Boolean,
  /** The run file as the learner decoded it. */
  config: Schema.Unknown,
  /** HTTP address of the model and its weights. */
  files: text(2_000),
  /** `full`: each version is a whole model. `adapter`: the model's folder is the base, and each version an adapter. */
  kind: Schema.Literals(["full", "adapter"]),
  leaseMs: positive,
  /** Workers that must end, since too many of their results were refused. */
  shutOut: Schema.optionalKey(Schema.Array(text(64))),
});
export type RunDescription = typeof RunDescription.Type;

/** The newest version of the weights that workers can fetch. */
export const WeightsAnnouncement = Schema.Struct({ epoch: Epoch, version: Count });
export type WeightsAnnouncement = typeof WeightsAnnouncement.Type;

/** A stored lease: the prompt to play, and the ticket. */
export const LeaseMessage = Schema.Struct({
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
export type LeaseMessage = typeof LeaseMessage.Type;

/** A worker's report, sent every second and when it takes or ends a lease. */
export const WorkerGauges = Schema.Struct({
  epoch: Epoch,
  /** Episodes that the worker can play at once, and groups that it takes for them. */
  slots: positive,
  groups: positive,
  version: Count,
  tokensPerSecond: Schema.Finite.check(Schema.isBetween({ minimum: 0, maximum: 1e12 })),
  /** Groups that the worker holds leases of. */
  playing: Count,
  /** Leases taken since the last report; once in each lease time, all leases that the worker holds. */
  leases: Schema.Array(Lease).check(Schema.isMaxLength(65_536)),
  /** True in the last report: the worker takes no more leases and holds none. */
  leaves: Schema.Boolean,
});
export type WorkerGauges = typeof WorkerGauges.Type;

/** A learner's answer to a worker that asks which runs the broker has. */
export const RunPresence = Schema.Struct({ run: text(200), epoch: Epoch });
export type RunPresence = typeof RunPresence.Type;

const LONGEST_MESSAGE = 2 ** 20;

export class BadMessage extends Schema.TaggedError<BadMessage>()("BadMessage", { message: Schema.String }) {}

export interface MessageCodec<A> {
  readonly encode: (value: A) => Uint8Array;
  /** Throws BadMessage. */
  readonly decode: (bytes: Uint8Array) => A;
}

const messageCodec = <A, I>(name: string, schema: Schema.Codec<A, I>): MessageCodec<A> => {
  const codec = Schema.fromJsonString(schema);
  const encode = Schema.encodeSync(codec);
  const decode = Schema.decodeUnknownSync(codec);
  return {
    encode: (value) => new TextEncoder().encode(encode(value)),
    decode: (bytes) => {
      if (bytes.byteLength > LONGEST_MESSAGE) throw new BadMessage({ message: `${name} of ${bytes.byteLength} bytes` });
      try {
        return decode(new TextDecoder().decode(bytes));
      } catch {
        throw new BadMessage({ message: `it is not ${name}` });
      }
    },
  };
};

export const runDescription = messageCodec("a description of a run", RunDescription);
export const weightsAnnouncement = messageCodec("an announcement of weights", WeightsAnnouncement);
export const leaseMessage = messageCodec("a lease", LeaseMessage);
export const workerGauges = messageCodec("a worker's gauges", WorkerGauges);
export const runPresence = messageCodec("a run's name", RunPresence);
