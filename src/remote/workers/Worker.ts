/**
 * A rollout worker of a run: it joins each start of the run as the learner describes it, takes leases as long as it has room, and adopts the newest
 * weights that are announced. Invariants: everything of one start is closed before the next is joined; a worker that is asked to stop
 * takes no lease more, and finishes or gives back those that it holds.
 */
import { Effect, FiberSet, Latch, Schema, type Scope } from "effect";
import type { Version } from "../../domain/Episode.ts";
import type { BadInput, EnvironmentError, PolicyError } from "../../domain/Errors.ts";
import type { Group, Prompt } from "../../domain/Group.ts";
import { monotonicMillis } from "../../domain/Instant.ts";
import { retry } from "../../support/http/retry.ts";
import { type BrokerError, type GivenLease, persistent, type WorkerBroker } from "./Broker.ts";
import type { FetchFailed } from "./files/fetchFolder.ts";
import * as Holding from "./Holding.ts";
import type { Lease } from "./Lease.ts";
import * as Messages from "./Messages.ts";
import { Room } from "./Room.ts";

/** What plays the groups of one start of a run on this machine. */
export interface Seat {
  /** Episodes at once. */
  readonly slots: number;
  /** Episodes of a group. */
  readonly groupSize: number;
  /** `ended` is called as each episode ends. */
  readonly play: (prompt: Prompt, ended: () => void) => Effect.Effect<Group, PolicyError | EnvironmentError>;
  /** Fetches a version and gives it to the generators. */
  readonly adopt: (version: Version) => Effect.Effect<void, PolicyError | FetchFailed>;
  readonly awaitVersion: (version: Version) => Effect.Effect<void, PolicyError>;
  readonly sampled: Effect.Effect<{ readonly version: Version; readonly tokens: number }, PolicyError>;
  /** Suspends until its engine is gone, and fails. */
  readonly died: Effect.Effect<never, PolicyError>;
}

export type SeatError = BadInput | PolicyError | EnvironmentError | FetchFailed;

export interface WorkerOptions {
  /** Under which the learner knows it. */
  readonly name: string;
  readonly broker: WorkerBroker;
  /** Takes a seat in the run as described, with the version to begin with. */
  readonly seat: (about: Messages.About, version: Version) => Effect.Effect<Seat, SeatError, Scope.Scope>;
  /** Suspends until the worker is to stop. */
  readonly stop: Effect.Effect<void>;
  /** How long leases in hand are waited for then. */
  readonly stopMs: number;
  /** Waits for the run's next start after its end. */
  readonly stays: boolean;
  /** Is told in words what the worker does. */
  readonly say: (line: string) => void;
}

/** The learner takes nothing of this worker any more. */
export class ShutOut extends Schema.TaggedError<ShutOut>()("ShutOut", { message: Schema.String }) {}
export class WrongProtocol extends Schema.TaggedError<WrongProtocol>()("WrongProtocol", { message: Schema.String }) {}

/** What the learner said last. */
class Heard {
  about: Messages.About | undefined;
  weights: Messages.Announced | undefined;
  /** Each tells whether it has found what it waits for. */
  readonly #waiting = new Set<() => boolean>();

  readonly onAbout = (bytes: Uint8Array): void =>
    this.#take(Messages.about, bytes, (about) => {
      this.about = about;
    });

  readonly onWeights = (bytes: Uint8Array): void =>
    this.#take(Messages.announced, bytes, (weights) => {
      this.weights = weights;
    });

  /** Suspends until `of` gives something. */
  until<A>(of: (heard: Heard) => A | undefined): Effect.Effect<A> {
    return Effect.callback((resume) => {
      const look = (): boolean => {
        const found = of(this);
        if (found !== undefined) resume(Effect.succeed(found));
        return found !== undefined;
      };
      if (look()) return;
      this.#waiting.add(look);
      return Effect.sync(() => void this.#waiting.delete(look));
    });
  }

  #take<A>(form: Messages.Form<A>, bytes: Uint8Array, keep: (value: A) => void): void {
    try {
      keep(form.decode(bytes));
    } catch {
      // Not of a learner of ours: what was said before counts.
      return;
    }
    for (const look of [...this.#waiting]) if (look()) this.#waiting.delete(look);
  }
}

interface Joined {
  readonly about: Messages.About;
  readonly seat: Seat;
  readonly room: Room;
  /** The groups that it holds leases of. */
  readonly held: Map<number, Holding.Hand>;
  /** Opens when the gauges have something new to tell. */
  readonly told: Latch.Latch;
}

/** Gauges are told so often, and when a lease comes or goes, with a pause between two. */
const GAUGES_MS = 1_000;
const PAUSE_MS = 50;
/** Until a seat is taken again after files could not be had. */
const AGAIN_MS = 1_000;

const gaugesOf = Effect.fnUntraced(function* ({ about, held, room, seat }: Joined, before: Rate, leaves: boolean) {
  const { tokens, version } = yield* seat.sampled;
  const now = yield* monotonicMillis;
  const seconds = (now - before.at) / 1_000;
  const gauges: Messages.Gauges = {
    epoch: about.epoch,
    slots: seat.slots,
    groups: room.groups(seat.groupSize),
    version,
    tokensPerSecond: seconds > 0 ? Math.max(0, (tokens - before.tokens) / seconds) : before.rate,
    playing: held.size,
    leases: [...held.values()].flatMap(({ leases }) => leases),
    leaves,
  };
  return { gauges, now, tokens };
});

interface Rate {
  /** Milliseconds of the monotonic clock. */
  readonly at: number;
  readonly tokens: number;
  readonly rate: number;
}

/** Tells the gauges, for as long as it runs. */
const telling = (broker: WorkerBroker, joined: Joined): Effect.Effect<never, PolicyError> =>
  Effect.gen(function* () {
    let rate: Rate = { at: yield* monotonicMillis, tokens: (yield* joined.seat.sampled).tokens, rate: 0 };
    const every = Math.min(GAUGES_MS, joined.about.leaseMs / 3);
    let told: ReadonlySet<Lease> = new Set();
    let whole = rate.at;
    for (;;) {
      const { gauges, now, tokens } = yield* gaugesOf(joined, rate, false);
      // A list of all leases every second would cost the learner more than their groups.
      if (now - whole >= joined.about.leaseMs) {
        told = new Set();
        whole = now;
      }
      const leases = gauges.leases.filter((lease) => !told.has(lease));
      told = new Set(gauges.leases);
      // The rate is taken over a second at least.
      const due = now - rate.at >= GAUGES_MS;
      const tokensPerSecond = due ? gauges.tokensPerSecond : rate.rate;
      if (due) rate = { at: now, tokens, rate: tokensPerSecond };
      yield* broker.say(Messages.gauges.encode({ ...gauges, leases, tokensPerSecond }));
      joined.told.closeUnsafe();
      yield* Effect.sleep(PAUSE_MS);
      yield* Effect.raceFirst(joined.told.await, Effect.sleep(every));
    }
  });

/** Adopts each newer version that is announced, the newest first; one that cannot be fetched is tried again, or its successor. */
const adopting = (
  heard: Heard,
  { about, seat }: Joined,
  from: Version,
): Effect.Effect<never, PolicyError | FetchFailed> =>
  Effect.gen(function* () {
    let adopted = from;
    const newer = heard.until(({ weights }) =>
      weights?.epoch === about.epoch && weights.version > adopted ? weights.version : undefined,
    );
    for (;;) {
      const adoption = Effect.gen(function* () {
        const version = yield* newer;
        yield* seat.adopt(version);
        adopted = version;
      });
      yield* retry(adoption, persistent, { isRetryable: ({ _tag }) => _tag === "FetchFailed" });
    }
  });

/** Plays the group of a lease, whatever becomes of it; its places are given back. One that is in hand already is played on, under this lease too. */
const playLease = Effect.fnUntraced(function* (broker: WorkerBroker, joined: Joined, given: GivenLease) {
  const { about, held, room, seat, told } = joined;
  let work: Messages.Work;
  try {
    work = Messages.work.decode(given.bytes);
  } catch {
    return yield* given.end;
  }
  // A lease of another start of the run: nobody waits for it.
  if (work.epoch !== about.epoch) return yield* given.end;
  const prompt = Holding.promptOf(work);
  const lease: Lease = { epoch: work.epoch, group: prompt.group, ticket: work.ticket, delivery: given.delivery };
  const inHand = held.get(prompt.group);
  if (inHand !== undefined) {
    inHand.add(given, lease);
    return told.openUnsafe();
  }
  const hand = new Holding.Hand();
  hand.add(given, lease);
  let left = prompt.size;
  const give = (episodes: number): void => {
    left -= episodes;
    room.give(episodes);
  };
  const ready = ({ admittedAt }: Prompt) =>
    Effect.timeoutOrElse(Effect.as(seat.awaitVersion(admittedAt), true), {
      duration: 2 * about.leaseMs,
      orElse: () => Effect.succeed(false),
    });
  room.take(prompt.size);
  held.set(prompt.group, hand);
  told.openUnsafe();
  const playing = Holding.hold(broker, hand, prompt, about.leaseMs, {
    ready,
    play: (prompt) => seat.play(prompt, () => give(1)),
  });
  yield* Effect.ensuring(
    playing,
    Effect.sync(() => {
      give(left);
      held.delete(prompt.group);
      told.openUnsafe();
    }),
  );
});

/** Takes leases until it is interrupted, each on a fiber of its own. */
const taking = (
  broker: WorkerBroker,
  joined: Joined,
  playing: FiberSet.FiberSet<void, PolicyError | EnvironmentError | BrokerError>,
): Effect.Effect<never, BrokerError> =>
  Effect.forever(
    Effect.gen(function* () {
      yield* joined.room.awaited;
      // What is lost with a connection comes again; a broker that refuses ends the worker elsewhere.
      const given = yield* retry(broker.next, persistent);
      yield* FiberSet.run(playing, playLease(broker, joined, given));
      // It has taken its room by the time the next is asked for.
      yield* Effect.yieldNow;
    }),
  );

/** One start of the run, from its description until the worker is to stop. */
const play = Effect.fnUntraced(function* (
  options: WorkerOptions,
  heard: Heard,
  about: Messages.About,
  version: Version,
) {
  const { broker, say, stop, stopMs } = options;
  const seat = yield* Effect.raceFirst(options.seat(about, version), Effect.as(stop, null));
  if (seat === null) return "stopped" as const;
  const joined: Joined = {
    about,
    seat,
    // One group more than is played: the next is at hand when one ends, however far the broker is.
    room: new Room(seat.slots + seat.groupSize),
    held: new Map(),
    told: Latch.makeUnsafe(false),
  };
  const playing = yield* FiberSet.make<void, PolicyError | EnvironmentError | BrokerError>();
  say(`joined ${about.run} with ${seat.slots} slots, at version ${version}`);
  const beside = Effect.all(
    [telling(broker, joined), adopting(heard, joined, version), seat.died, FiberSet.join(playing)],
    {
      concurrency: "unbounded",
      discard: true,
    },
  );
  const work = Effect.gen(function* () {
    yield* Effect.raceFirst(taking(broker, joined, playing), stop);
    if (joined.held.size > 0) say(`finishing ${joined.held.size} groups, for ${stopMs / 1_000} s at most`);
    yield* Effect.raceFirst(FiberSet.awaitEmpty(playing), Effect.sleep(stopMs));
    // Those that are left are given back.
    yield* FiberSet.clear(playing);
    const { gauges } = yield* gaugesOf(joined, { at: 0, tokens: 0, rate: 0 }, true);
    yield* broker.say(Messages.gauges.encode({ ...gauges, playing: 0, leases: [] }));
  });
  yield* Effect.raceFirst(work, Effect.andThen(beside, Effect.never));
  return "stopped" as const;
}, Effect.scoped);

/** Works for the run until it has ended, or the worker is to stop. Why it came to an end. */
export const run = (
  options: WorkerOptions,
): Effect.Effect<
  "ended" | "stopped",
  BadInput | WrongProtocol | ShutOut | PolicyError | EnvironmentError | BrokerError
> =>
  Effect.gen(function* () {
    const { broker, name, say, stays, stop } = options;
    const heard = new Heard();
    yield* broker.follow({ about: heard.onAbout, weights: heard.onWeights });
    if (heard.about?.ended !== false) say("waiting for the run to begin");
    let joined = false;
    for (;;) {
      const begun = heard.until(({ about, weights }) => {
        if (about === undefined) return undefined;
        // The end of a run before this one is what a worker finds that comes early.
        if (about.ended) return stays || !joined ? undefined : "ended";
        return weights?.epoch === about.epoch ? { about, version: weights.version } : undefined;
      });
      const next = yield* Effect.raceFirst(begun, Effect.as(stop, "stopped" as const));
      if (next === "ended" || next === "stopped") return next;
      const { about, version } = next;
      if (about.protocol !== Messages.PROTOCOL) {
        const message = `${about.run} is trained by millrace ${about.program}, which speaks protocol ${about.protocol}; this one speaks ${Messages.PROTOCOL}: install the same`;
        return yield* new WrongProtocol({ message });
      }
      if (about.shutOut?.includes(name) === true) {
        const message = `the learner of ${about.run} refused so many results of ${name} that it takes no more: what this machine computes cannot be true; the learner's log says why`;
        return yield* new ShutOut({ message });
      }
      joined = true;
      const another = heard.until(({ about: now }) =>
        now !== undefined && (now.epoch !== about.epoch || now.ended || now.shutOut?.includes(name) === true)
          ? true
          : undefined,
      );
      const playing = Effect.catchTag(play(options, heard, about, version), "FetchFailed", (failure: FetchFailed) =>
        // The version may be gone by now, or the learner away: the newest one is asked for again.
        Effect.as(
          Effect.delay(
            Effect.sync(() => say(failure.message)),
            AGAIN_MS,
          ),
          "missed" as const,
        ),
      );
      const came = yield* Effect.raceAllFirst([playing, Effect.as(another, "again" as const)]);
      if (came === "stopped") return came;
      if (came === "missed") continue;
      say(heard.about?.ended === true ? `${about.run} has ended` : `${about.run} begins anew`);
    }
  }).pipe(Effect.scoped);
