/**
 * A worker's leases of one group: they are kept alive while the group is played, its result is stored under each of them, and then they
 * end. Invariants: a group is played once at a time, however often its lease is delivered; leases of a group that is not played to its end
 * are given back.
 */
import { Effect, Exit, Schedule } from "effect";
import type { BadInput, EnvironmentError, PolicyError } from "../../domain/Errors.ts";
import type { Group, Prompt } from "../../domain/Group.ts";
import type { BrokerError, DeliveredLease, WorkerBroker } from "./Broker.ts";
import * as GroupCodec from "./GroupCodec.ts";
import type { Lease } from "./Lease.ts";
import type { LeaseMessage } from "./Messages.ts";
import * as ResultParts from "./ResultParts.ts";

/** Keep-alive signals during one lease time. */
const KEEPALIVES = 3;

export interface GroupPlay {
  /** Suspends until the generators have the prompt's version; false if it does not arrive in time. */
  readonly awaitWeights: (prompt: Prompt) => Effect.Effect<boolean, PolicyError>;
  readonly play: (prompt: Prompt) => Effect.Effect<Group, BadInput | PolicyError | EnvironmentError>;
}

export const promptOf = ({ prompt: { urgent, ...prompt } }: LeaseMessage): Prompt =>
  urgent === undefined ? prompt : { ...prompt, urgent };

interface HeldLease {
  readonly lease: Lease;
  readonly delivered: DeliveredLease;
}

/**
 * The leases of one group that a worker holds, usually one. A broker may deliver a lease again to its holder: after a silence, and
 * nats-server before 2.10.14 also when another lease is given back. The learner may offer a group anew while a worker plays it under the
 * old offer. Only the learner knows which offer counts.
 */
export class GroupLeases {
  /** The newest delivery of each offer, by ticket, in order of arrival. */
  readonly #byTicket = new Map<string, HeldLease>();

  add(delivered: DeliveredLease, lease: Lease): void {
    // nats-server may send the second delivery of a lease before the first: the learner accepts the newest.
    if ((this.#byTicket.get(lease.ticket)?.lease.delivery ?? 0) > lease.delivery) return;
    // The lease moves to the end, so that a loop that has passed its older delivery reaches the newer one.
    this.#byTicket.delete(lease.ticket);
    this.#byTicket.set(lease.ticket, { delivered, lease });
  }

  /** An iteration includes the leases that are added during it. */
  [Symbol.iterator](): Iterator<HeldLease> {
    return this.#byTicket.values();
  }

  get leases(): readonly Lease[] {
    return [...this].map(({ lease }) => lease);
  }
}

/** Runs an action for every lease of a group, one after the other. */
const forEachLease = <E>(
  leases: GroupLeases,
  action: (lease: HeldLease) => Effect.Effect<void, E>,
): Effect.Effect<void, E> =>
  Effect.gen(function* () {
    for (const heldLease of leases) yield* action(heldLease);
  });

/** Stores a result in as many messages as it takes. Each message has an id of its own, so that the broker stores a repeated one once. */
const storeResult = Effect.fnUntraced(function* (broker: WorkerBroker, lease: Lease, group: Group) {
  const bytes = yield* GroupCodec.encode(group);
  const { delivery, epoch, ticket } = lease;
  const parts = ResultParts.split(lease, bytes, broker.mostBytes).map((part, index) => ({
    part,
    id: `${epoch}.${ticket}.${delivery}.${index}`,
  }));
  yield* Effect.forEach(parts, ({ id, part }) => broker.store(part, id), { discard: true });
});

/** Plays a group to its end and answers for its leases. False if the group was not played. */
export const playUnderLeases = (
  broker: WorkerBroker,
  leases: GroupLeases,
  prompt: Prompt,
  leaseMs: number,
  { play, awaitWeights }: GroupPlay,
): Effect.Effect<boolean, BadInput | PolicyError | EnvironmentError | BrokerError> => {
  const keepAlive = Effect.repeat(
    forEachLease(leases, ({ delivered }) => delivered.keepAlive),
    Schedule.spaced(leaseMs / KEEPALIVES),
  );
  const playing = Effect.gen(function* () {
    if (!(yield* awaitWeights(prompt))) return false;
    const group = yield* play(prompt);
    yield* forEachLease(leases, ({ lease }) => storeResult(broker, lease, group));
    return true;
  });
  return Effect.raceFirst(playing, Effect.andThen(keepAlive, Effect.never)).pipe(
    Effect.onExit((exit) => {
      const isPlayed = Exit.isSuccess(exit) && exit.value;
      return forEachLease(leases, ({ delivered }) => (isPlayed ? delivered.end : delivered.giveBack));
    }),
  );
};
