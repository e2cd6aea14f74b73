/**
 * A lease: the right to play one group once, of one start of the run. Its ticket is drawn anew for every offer and told to nobody but who is
 * given the lease, so that only a holder can answer for it.
 */
import { Schema } from "effect";
import { Count } from "../../domain/Count.ts";

const shortText = Schema.String.check(Schema.isPattern(/^[\w.-]{1,64}$/));

export const Lease = Schema.Struct({
  /** Names the start of the run that offered it: a resumed run is another one. */
  epoch: shortText,
  group: Count,
  ticket: shortText,
  /** How often the broker has given it out, this time included, from 1. */
  delivery: Schema.Int.check(Schema.isBetween({ minimum: 1, maximum: 2 ** 31 - 1 })),
});
export type Lease = typeof Lease.Type;

/** A lease as it is offered: nobody holds it yet. */
export type Offer = Omit<Lease, "delivery">;
