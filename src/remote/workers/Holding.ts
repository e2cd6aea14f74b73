/**
 * One group while a worker holds leases of it: they are kept alive, the group is played, its result is stored under each of them, and only then
 * are they ended. Invariants: a group is played once at a time, however often it is given; leases of a group that is not played to its end
 * (the worker stops, its engine fails, its weights do not come) are given back.
 */
import { Effect, Exit, Schedule } from "effect";
import type { EnvironmentError, PolicyError } from "../../domain/Errors.ts";
import type { Group, Prompt } from "../../domain/Group.ts";
import type { BrokerError, GivenLease, WorkerBroker } from "./Broker.ts";
import * as GroupCodec from "./GroupCodec.ts";
import type { Lease } from "./Lease.ts";
import type { Work } from "./Messages.ts";
import * as Parts from "./Parts.ts";

/** How often a lease is said to be alive, in its time. */
const SIGNS = 3;

export interface Play {
  /** Suspends until the weights that the prompt asks for are there; false where they do not come in time. */
  readonly ready: (prompt: Prompt) => Effect.Effect<boolean, PolicyError>;
  readonly play: (prompt: Prompt) => Effect.Effect<Group, PolicyError | EnvironmentError>;
}

export const promptOf = ({ prompt: { urgent, ...prompt } }: Work): Prompt =>
  urgent === undefined ? prompt : { ...prompt, urgent };

interface Held {
  readonly lease: Lease;
  readonly given: GivenLease;
}

/**
 * The leases of one group that a worker holds, as a rule one. A broker may give a lease a second time to the worker that has it: after a silence,
 * and nats-server before 2.10.14 also when another lease is given back. The learner may offer a group anew while a worker plays it under the old
 * offer. Only the learner knows which offer counts.
 */
export class Hand {
  /** The newest delivery of each offer, by its ticket, in the order in which they came. */
  readonly #held = new Map<string, Held>();

  add(given: GivenLease, lease: Lease): void {
    // nats-server may give the second delivery of a lease before the first: the learner takes the newest.
    if ((this.#held.get(lease.ticket)?.lease.delivery ?? 0) > lease.delivery) return;
    // At the end: a loop over the leases that has passed the older delivery comes to this one.
    this.#held.delete(lease.ticket);
    this.#held.set(lease.ticket, { given, lease });
  }

  /** Includes the leases that are added while it goes on. */
  [Symbol.iterator](): Iterator<Held> {
    return this.#held.values();
  }

  get leases(): readonly Lease[] {
    return [...this].map(({ lease }) => lease);
  }
}

/** Does something with every lease of a hand, one after the other. */
const forAll = <E>(hand: Hand, work: (held: Held) => Effect.Effect<void, E>): Effect.Effect<void, E> =>
  Effect.gen(function* () {
    for (const held of hand) yield* work(held);
  });

/** Stores a result in as many messages as it takes. Each has a name of its own, so that one that is sent again is stored once. */
const store = Effect.fnUntraced(function* (broker: WorkerBroker, lease: Lease, group: Group) {
  const bytes = yield* GroupCodec.encode(group);
  const { delivery, epoch, ticket } = lease;
  const parts = Parts.split(lease, bytes, broker.mostBytes).map((part, index) => ({
    part,
    id: `${epoch}.${ticket}.${delivery}.${index}`,
  }));
  yield* Effect.forEach(parts, ({ id, part }) => broker.stored(part, id), { discard: true });
});

/** Plays the group of a hand to its end, and answers for its leases; whether it was played. */
export const hold = (
  broker: WorkerBroker,
  hand: Hand,
  prompt: Prompt,
  leaseMs: number,
  { play, ready }: Play,
): Effect.Effect<boolean, PolicyError | EnvironmentError | BrokerError> => {
  const alive = Effect.repeat(
    forAll(hand, ({ given }) => given.alive),
    Schedule.spaced(leaseMs / SIGNS),
  );
  const played = Effect.gen(function* () {
    if (!(yield* ready(prompt))) return false;
    const group = yield* play(prompt);
    yield* forAll(hand, ({ lease }) => store(broker, lease, group));
    return true;
  });
  return Effect.raceFirst(played, Effect.andThen(alive, Effect.never)).pipe(
    Effect.onExit((exit) => {
      const done = Exit.isSuccess(exit) && exit.value;
      return forAll(hand, ({ given }) => (done ? given.end : given.giveBack));
    }),
  );
};
