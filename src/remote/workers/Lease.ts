/**
 * A lease is the right to play one group once, for one start of the run. Every offer draws a new ticket, which only the holder of the lease
 * gets to know: so only a holder can answer for it.
 */
import { Schema } from "effect";
import { Count } from "../../domain/Count.ts";

const shortText = Schema.String.check(Schema.isPattern(/^[\w.-]{1,64}$/));

export const Lease = Schema.Struct({
  /** Identifies the start of the run that offered the lease. A resumed run has another epoch. */
  epoch: shortText,
  group: Count,
  ticket: shortText,
  /** Deliveries of the lease by the broker, this one included, from 1. */
  delivery: Schema.Int.check(Schema.isBetween({ minimum: 1, maximum: 2 ** 31 - 1 })),
});
export type Lease = typeof Lease.Type;

/** A lease before the broker has delivered it to a worker. */
export type Offer = Omit<Lease, "delivery">;
