/**
 * A rollout worker. It joins each start of the run as the learner describes it, takes leases as long as it has room, and adopts the newest
 * announced weights. Invariants: everything of one start is closed before the next is joined; a worker that is asked to stop takes no more
 * leases, and finishes or gives back those that it holds.
 */
import { Effect, FiberSet, Latch, Schema, type Scope } from "effect";
import type { Version } from "../../domain/Episode.ts";
import type { BadInput, EnvironmentError, PolicyError } from "../../domain/Errors.ts";
import type { Group, Prompt } from "../../domain/Group.ts";
import { monotonicMillis } from "../../domain/Instant.ts";
import { retry } from "../../support/http/retry.ts";
import { type BrokerError, type DeliveredLease, reconnectPolicy, type WorkerBroker } from "./Broker.ts";
import { EpisodeBudget } from "./EpisodeBudget.ts";
import type { FetchFailed } from "./files/fetchFolder.ts";
import * as GroupLeases from "./GroupLeases.ts";
import type { Lease } from "./Lease.ts";
import * as Messages from "./Messages.ts";

/** Plays the groups of one start of a run on this machine. */
export interface GroupRunner {
  /** Episodes that it plays at once. */
  readonly slots: number;
  readonly groupSize: number;
  /** Plays a group; `onEpisodeEnd` is called as each episode ends. */
  readonly play: (
    prompt: Prompt,
    onEpisodeEnd: () => void,
  ) => Effect.Effect<Group, BadInput | PolicyError | EnvironmentError>;
  /** Fetches a version and hands it to the generators. */
  readonly adopt: (version: Version) => Effect.Effect<void, PolicyError | FetchFailed>;
  readonly awaitVersion: (version: Version) => Effect.Effect<void, PolicyError>;
  readonly sampled: Effect.Effect<{ readonly version: Version; readonly tokens: number }, PolicyError>;
  /** Fails once its engine is gone. */
  readonly died: Effect.Effect<never, PolicyError>;
}

export type GroupRunnerError = BadInput | PolicyError | EnvironmentError | FetchFailed;

export interface WorkerOptions {
  /** The worker's name at the learner. */
  readonly name: string;
  readonly broker: WorkerBroker;
  /** Makes the runner of the described run, beginning with `version`. */
  readonly makeRunner: (
    about: Messages.RunDescription,
    version: Version,
  ) => Effect.Effect<GroupRunner, GroupRunnerError, Scope.Scope>;
  /** Suspends until the worker is to stop. */
  readonly stopRequested: Effect.Effect<void>;
  /** Time to finish the leases in hand after a stop, milliseconds. */
  readonly stopTimeoutMs: number;
  /** True to wait for the run's next start after its end. */
  readonly waitsForRestart: boolean;
  /** Receives lines for people. */
  readonly print: (line: string) => void;
}

/** The learner accepts nothing from this worker any more. */
export class ShutOut extends Schema.TaggedError<ShutOut>()("ShutOut", { message: Schema.String }) {}
export class WrongProtocol extends Schema.TaggedError<WrongProtocol>()("WrongProtocol", { message: Schema.String }) {}

/** The learner's last messages. */
class LearnerState {
  description: Messages.RunDescription | undefined;
  announcement: Messages.WeightsAnnouncement | undefined;
  /** Each resumes its fiber and returns true once its condition holds. */
  readonly #waiters = new Set<() => boolean>();

  readonly onDescription = (bytes: Uint8Array): void =>
    this.#receive(Messages.runDescription, bytes, (value) => {
      this.description = value;
    });

  readonly onWeights = (bytes: Uint8Array): void =>
    this.#receive(Messages.weightsAnnouncement, bytes, (weights) => {
      this.announcement = weights;
    });

  /** Suspends until `select` returns a value. */
  until<A>(select: (state: LearnerState) => A | undefined): Effect.Effect<A> {
    return Effect.callback((resume) => {
      const tryResume = (): boolean => {
        const selected = select(this);
        if (selected !== undefined) resume(Effect.succeed(selected));
        return selected !== undefined;
      };
      if (tryResume()) return;
      this.#waiters.add(tryResume);
      return Effect.sync(() => void this.#waiters.delete(tryResume));
    });
  }

  #receive<A>(codec: Messages.MessageCodec<A>, bytes: Uint8Array, store: (value: A) => void): void {
    try {
      store(codec.decode(bytes));
    } catch {
      // A message that is none of ours is ignored.
      return;
    }
    for (const tryResume of [...this.#waiters]) if (tryResume()) this.#waiters.delete(tryResume);
  }
}

interface JoinedRun {
  readonly description: Messages.RunDescription;
  readonly runner: GroupRunner;
  readonly budget: EpisodeBudget;
  /** The leases that the worker holds, by group. */
  readonly leases: Map<number, GroupLeases.GroupLeases>;
  /** Opens when leases have come or gone, so that a report is due. */
  readonly gaugesDue: Latch.Latch;
}

/** Milliseconds between two reports, and the least pause between two when leases come and go. */
const GAUGES_MS = 1_000;
const PAUSE_MS = 50;
/** Pause before another attempt to join after files could not be fetched, milliseconds. */
const RETRY_MS = 1_000;

const gaugesOf = Effect.fnUntraced(function* (
  { description, leases, budget, runner }: JoinedRun,
  rate: TokenRate,
  leaves: boolean,
) {
  const { tokens, version } = yield* runner.sampled;
  const now = yield* monotonicMillis;
  const seconds = (now - rate.measuredAt) / 1_000;
  const gauges: Messages.WorkerGauges = {
    epoch: description.epoch,
    slots: runner.slots,
    groups: budget.mostGroups(runner.groupSize),
    version,
    tokensPerSecond: seconds > 0 ? Math.max(0, (tokens - rate.tokens) / seconds) : rate.tokensPerSecond,
    playing: leases.size,
    leases: [...leases.values()].flatMap(({ leases }) => leases),
    leaves,
  };
  return { gauges, now, tokens };
});

interface TokenRate {
  /** Milliseconds of the monotonic clock. */
  readonly measuredAt: number;
  readonly tokens: number;
  readonly tokensPerSecond: number;
}

/** Reports gauges for as long as it runs. */
const reportGauges = (broker: WorkerBroker, joined: JoinedRun): Effect.Effect<never, PolicyError> =>
  Effect.gen(function* () {
    let rate: TokenRate = {
      measuredAt: yield* monotonicMillis,
      tokens: (yield* joined.runner.sampled).tokens,
      tokensPerSecond: 0,
    };
    const intervalMs = Math.min(GAUGES_MS, joined.description.leaseMs / 3);
    let reported: ReadonlySet<Lease> = new Set();
    let reportedAllAt = rate.measuredAt;
    for (;;) {
      const { gauges, now, tokens } = yield* gaugesOf(joined, rate, false);
      // A list of all leases in each report would cost the learner more than their groups.
      if (now - reportedAllAt >= joined.description.leaseMs) {
        reported = new Set();
        reportedAllAt = now;
      }
      const leases = gauges.leases.filter((lease) => !reported.has(lease));
      reported = new Set(gauges.leases);
      // The rate is measured over at least one second.
      const isDue = now - rate.measuredAt >= GAUGES_MS;
      const tokensPerSecond = isDue ? gauges.tokensPerSecond : rate.tokensPerSecond;
      if (isDue) rate = { measuredAt: now, tokens, tokensPerSecond };
      yield* broker.sendGauges(Messages.workerGauges.encode({ ...gauges, leases, tokensPerSecond }));
      joined.gaugesDue.closeUnsafe();
      yield* Effect.sleep(PAUSE_MS);
      yield* Effect.raceFirst(joined.gaugesDue.await, Effect.sleep(intervalMs));
    }
  });

/** Adopts each newer version that is announced. If one cannot be fetched, the newest is tried next. */
const adoptVersions = (
  learner: LearnerState,
  { description, runner }: JoinedRun,
  first: Version,
): Effect.Effect<never, PolicyError | FetchFailed> =>
  Effect.gen(function* () {
    let adopted = first;
    const newer = learner.until(({ announcement }) =>
      announcement?.epoch === description.epoch && announcement.version > adopted ? announcement.version : undefined,
    );
    for (;;) {
      const adoption = Effect.gen(function* () {
        const version = yield* newer;
        yield* runner.adopt(version);
        adopted = version;
      });
      yield* retry(adoption, reconnectPolicy, { isRetryable: ({ _tag }) => _tag === "FetchFailed" });
    }
  });

/**
 * Plays the group of a lease and releases its slots, however it ends. If the group is already being played, this lease joins its others.
 */
const playLease = Effect.fnUntraced(function* (broker: WorkerBroker, joined: JoinedRun, delivered: DeliveredLease) {
  const { description, leases: byGroup, budget, runner, gaugesDue } = joined;
  let message: Messages.LeaseMessage;
  try {
    message = Messages.leaseMessage.decode(delivered.bytes);
  } catch {
    return yield* delivered.end;
  }
  // Nobody waits for a lease of another start of the run.
  if (message.epoch !== description.epoch) return yield* delivered.end;
  const prompt = GroupLeases.promptOf(message);
  const lease: Lease = {
    epoch: message.epoch,
    group: prompt.group,
    ticket: message.ticket,
    delivery: delivered.delivery,
  };
  const present = byGroup.get(prompt.group);
  if (present !== undefined) {
    present.add(delivered, lease);
    return gaugesDue.openUnsafe();
  }
  const leases = new GroupLeases.GroupLeases();
  leases.add(delivered, lease);
  let unreleased = prompt.size;
  const release = (episodes: number): void => {
    unreleased -= episodes;
    budget.release(episodes);
  };
  const awaitWeights = ({ admittedAt }: Prompt) =>
    Effect.timeoutOrElse(Effect.as(runner.awaitVersion(admittedAt), true), {
      duration: 2 * description.leaseMs,
      orElse: () => Effect.succeed(false),
    });
  budget.acquire(prompt.size);
  byGroup.set(prompt.group, leases);
  gaugesDue.openUnsafe();
  const playing = GroupLeases.playUnderLeases(broker, leases, prompt, description.leaseMs, {
    awaitWeights,
    play: (prompt) => runner.play(prompt, () => release(1)),
  });
  yield* Effect.ensuring(
    playing,
    Effect.sync(() => {
      release(unreleased);
      byGroup.delete(prompt.group);
      gaugesDue.openUnsafe();
    }),
  );
});

/** Takes leases until it is interrupted, each on a fiber of its own. */
const takeLeases = (
  broker: WorkerBroker,
  joined: JoinedRun,
  playing: FiberSet.FiberSet<void, BadInput | PolicyError | EnvironmentError | BrokerError>,
): Effect.Effect<never, BrokerError> =>
  Effect.forever(
    Effect.gen(function* () {
      yield* joined.budget.awaitRoom;
      // A broken connection loses no lease: the broker delivers it again.
      const delivered = yield* retry(broker.nextLease, reconnectPolicy);
      yield* FiberSet.run(playing, playLease(broker, joined, delivered));
      // The fiber acquires its slots before the next lease is requested.
      yield* Effect.yieldNow;
    }),
  );

/** Works for one start of the run, until the worker must stop. */
const joinRun = Effect.fnUntraced(function* (
  options: WorkerOptions,
  learner: LearnerState,
  description: Messages.RunDescription,
  version: Version,
) {
  const { broker, print, stopRequested, stopTimeoutMs } = options;
  const runner = yield* Effect.raceFirst(options.makeRunner(description, version), Effect.as(stopRequested, null));
  if (runner === null) return "stopped" as const;
  const joined: JoinedRun = {
    description,
    runner,
    // The worker holds one group more than it plays: the next is at hand when one ends, however far away the broker is.
    budget: new EpisodeBudget(runner.slots + runner.groupSize),
    leases: new Map(),
    gaugesDue: Latch.makeUnsafe(false),
  };
  const playing = yield* FiberSet.make<void, BadInput | PolicyError | EnvironmentError | BrokerError>();
  print(`joined ${description.run} with ${runner.slots} slots, at version ${version}`);
  const background = Effect.all(
    [reportGauges(broker, joined), adoptVersions(learner, joined, version), runner.died, FiberSet.join(playing)],
    {
      concurrency: "unbounded",
      discard: true,
    },
  );
  const work = Effect.gen(function* () {
    yield* Effect.raceFirst(takeLeases(broker, joined, playing), stopRequested);
    if (joined.leases.size > 0) print(`finishing ${joined.leases.size} groups, for ${stopTimeoutMs / 1_000} s at most`);
    yield* Effect.raceFirst(FiberSet.awaitEmpty(playing), Effect.sleep(stopTimeoutMs));
    // Interrupted fibers give their leases back.
    yield* FiberSet.clear(playing);
    const { gauges } = yield* gaugesOf(joined, { measuredAt: 0, tokens: 0, tokensPerSecond: 0 }, true);
    yield* broker.sendGauges(Messages.workerGauges.encode({ ...gauges, playing: 0, leases: [] }));
  });
  yield* Effect.raceFirst(work, Effect.andThen(background, Effect.never));
  return "stopped" as const;
}, Effect.scoped);

/** Works for the run until the run has ended or the worker must stop. Returns which of the two it was. */
export const run = (
  options: WorkerOptions,
): Effect.Effect<
  "ended" | "stopped",
  BadInput | WrongProtocol | ShutOut | PolicyError | EnvironmentError | BrokerError
> =>
  Effect.gen(function* () {
    const { broker, name, print, waitsForRestart, stopRequested } = options;
    const learner = new LearnerState();
    yield* broker.follow({ about: learner.onDescription, weights: learner.onWeights });
    if (learner.description?.ended !== false) print("waiting for the run to begin");
    let hasJoined = false;
    for (;;) {
      const starting = learner.until(({ description, announcement }) => {
        if (description === undefined) return undefined;
        // A worker that comes early finds the end of an earlier run.
        if (description.ended) return waitsForRestart || !hasJoined ? undefined : "ended";
        return announcement?.epoch === description.epoch ? { description, version: announcement.version } : undefined;
      });
      const next = yield* Effect.raceFirst(starting, Effect.as(stopRequested, "stopped" as const));
      if (next === "ended" || next === "stopped") return next;
      const { description, version } = next;
      if (description.protocol !== Messages.PROTOCOL) {
        const message = `${description.run} is trained by millrace ${description.program}, which speaks protocol ${description.protocol}; this one speaks ${Messages.PROTOCOL}: install the same`;
        return yield* new WrongProtocol({ message });
      }
      if (description.shutOut?.includes(name) === true) {
        const message = `the learner of ${description.run} refused so many results of ${name} that it takes no more: what this machine computes cannot be true; the learner's log says why`;
        return yield* new ShutOut({ message });
      }
      hasJoined = true;
      const nextStart = learner.until(({ description: now }) =>
        now !== undefined && (now.epoch !== description.epoch || now.ended || now.shutOut?.includes(name) === true)
          ? true
          : undefined,
      );
      const playing = Effect.catchTag(
        joinRun(options, learner, description, version),
        "FetchFailed",
        (failure: FetchFailed) =>
          // The version may be gone by now, or the learner away: the newest one is fetched next.
          Effect.as(
            Effect.delay(
              Effect.sync(() => print(failure.message)),
              RETRY_MS,
            ),
            "missed" as const,
          ),
      );
      const outcome = yield* Effect.raceAllFirst([playing, Effect.as(nextStart, "again" as const)]);
      if (outcome === "stopped") return outcome;
      if (outcome === "missed") continue;
      print(learner.description?.ended === true ? `${description.run} has ended` : `${description.run} begins anew`);
    }
  }).pipe(Effect.scoped);
