/**
 * One lease while a worker holds it: it is kept alive, its group is played, the result is stored, and only then is it ended. Invariant: a lease that
 * is not played to its end (the worker stops, its engine fails, its weights do not come) is given back.
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

/** Plays a lease to its end; whether it was played. */
export const hold = (
  broker: WorkerBroker,
  given: GivenLease,
  lease: Lease,
  prompt: Prompt,
  leaseMs: number,
  { play, ready }: Play,
): Effect.Effect<boolean, PolicyError | EnvironmentError | BrokerError> => {
  const alive = Effect.repeat(given.alive, Schedule.spaced(leaseMs / SIGNS));
  const played = Effect.gen(function* () {
    if (!(yield* ready(prompt))) return false;
    yield* store(broker, lease, yield* play(prompt));
    return true;
  });
  return Effect.raceFirst(played, Effect.andThen(alive, Effect.never)).pipe(
    Effect.onExit((exit) => (Exit.isSuccess(exit) && exit.value ? given.end : given.giveBack)),
  );
};
