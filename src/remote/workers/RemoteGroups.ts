/**
 * Plays groups on workers, and in this process where it has room: fibers around the dispatcher and a broker. Workers get as many offers as
 * they can play and one more each; other groups wait here. Invariants: a result is acknowledged once its group is recorded, or once it is
 * dropped and counted; whatever workers and broker do, each group is waiting, open or played.
 */
import { Clock, Deferred, Effect, Exit, FiberSet, Queue, type Scope } from "effect";
import { PolicyError } from "../../domain/Errors.ts";
import type { Prompt } from "../../domain/Group.ts";
import { monotonicMillisOf } from "../../domain/Instant.ts";
import { metricsFrom } from "../../domain/metrics/Metrics.ts";
import { workers as metrics } from "../../domain/metrics/run.ts";
import type { GroupPlayer } from "../../rollout/GroupPlayer.ts";
import * as GroupProgram from "../../rollout/group.ts";
import type { PlayMode, Rollout } from "../../rollout/Rollout.ts";
import type { BrokerError, ResultMessage } from "./Broker.ts";
import { withEpisodeEnds } from "./EpisodeBudget.ts";
import { GroupDispatcher, MOST_REFUSALS, type PendingOffer, type RemoteGroupsOptions } from "./GroupDispatcher.ts";
import type { Offer } from "./Lease.ts";
import * as Messages from "./Messages.ts";
import * as ResultParts from "./ResultParts.ts";

export interface RemoteGroups extends GroupPlayer {
  /** Fails once the broker refuses for good. */
  readonly died: Effect.Effect<never, PolicyError>;
}

/** Offers that are stored at once, and fibers that store them. */
const OFFERS_AT_ONCE = 64;
const PUBLISHERS = 4;
/** Overdue offers that are checked at once. */
const CHECKS_AT_ONCE = 8;

const brokerFailure = ({ cause, message }: BrokerError): PolicyError =>
  new PolicyError({ reason: "session_failed", message: `the broker of the workers refuses: ${message}`, cause });

/** Removes offers from the broker, if they are still there. */
const withdrawAll = (
  { options: { broker } }: GroupDispatcher,
  messageNumbers: readonly number[],
): Effect.Effect<void> =>
  Effect.forEach(messageNumbers, (messageNumber) => Effect.ignore(broker.withdraw(messageNumber)), { discard: true });

/** Takes one part of a result; the last part of a result resumes its group. */
const receiveResult = Effect.fnUntraced(function* (dispatcher: GroupDispatcher, message: ResultMessage) {
  const { bytes, worker } = message;
  dispatcher.receivedBytes += bytes.length;
  let part: ResultParts.Part;
  try {
    part = ResultParts.read(bytes);
  } catch (error) {
    dispatcher.drop("refused", [message]);
    return yield* countRefusal(
      dispatcher,
      worker,
      error instanceof ResultParts.BadPart ? error.message : String(error),
    );
  }
  const beforeReading = dispatcher.leases.check(part.lease);
  if (dispatcher.roster.isShutOut(worker)) {
    if (beforeReading._tag === "Accepted") dispatcher.reclaim(part.lease);
    return dispatcher.drop("refused", [message], part.index === 0);
  }
  if (beforeReading._tag === "Dropped") {
    // A result of many parts is counted once, by its first part.
    const isCounted = part.index === 0;
    dispatcher.drop(beforeReading.why, [message], isCounted);
    if (isCounted && beforeReading.why === "not_leased")
      yield* countRefusal(dispatcher, worker, "it was never given that group");
    return;
  }
  const outcome = dispatcher.assembler.add(worker, part, message);
  if (outcome._tag === "Incomplete") return;
  if (outcome._tag === "Dropped") {
    dispatcher.drop("refused", outcome.marks);
    return yield* countRefusal(dispatcher, worker, "the parts of a result do not fit together, or are too many");
  }
  const { lease, marks } = outcome.result;
  const { newestVersion, readResult } = dispatcher.options;
  const reading = yield* readResult({
    bytes: outcome.result.bytes,
    prompt: beforeReading.prompt,
    newestVersion: newestVersion(),
  });
  // Another result of the group may have been accepted while this one was read.
  const afterReading = dispatcher.leases.check(lease);
  if (afterReading._tag === "Dropped") return dispatcher.drop(afterReading.why, marks);
  if (reading._tag === "Group") return dispatcher.accept(reading.group, lease, worker, marks);
  const { flaw } = reading;
  dispatcher.drop(flaw.kind, marks);
  dispatcher.reclaim(lease);
  // A stale result is late, and the worker need not be wrong.
  if (flaw.kind === "refused") yield* countRefusal(dispatcher, worker, flaw.why);
});

/** Counts a message that cannot be true, from a worker that need not have joined. After `MOST_REFUSALS` in a row the worker is shut out. */
const countRefusal = Effect.fnUntraced(function* (dispatcher: GroupDispatcher, worker: string, why: string) {
  if (dispatcher.roster.isShutOut(worker)) return;
  const { inARow, times } = dispatcher.countRefusal(worker);
  // A broken worker is wrong often, so only the 1st, 2nd, 4th, 8th … refusal is logged.
  if (Number.isInteger(Math.log2(times))) {
    yield* Effect.logWarning(`worker ${worker}: what it sent is refused (${times}): ${why}`);
  }
  if (inARow < MOST_REFUSALS) return;
  yield* withdrawAll(dispatcher, dispatcher.shutOut(worker, why));
  yield* dispatcher.options.announceShutOut(dispatcher.roster.shutOutNames);
});

/** Takes a worker's report of itself. */
const receiveGauges = Effect.fnUntraced(function* (dispatcher: GroupDispatcher, worker: string, bytes: Uint8Array) {
  let gauges: Messages.WorkerGauges;
  try {
    gauges = Messages.workerGauges.decode(bytes);
  } catch {
    dispatcher.drop("refused", []);
    return yield* countRefusal(dispatcher, worker, "its report of itself cannot be read");
  }
  yield* withdrawAll(dispatcher, dispatcher.takeReport(worker, gauges));
});

const storeOffer = Effect.fnUntraced(function* (
  dispatcher: GroupDispatcher,
  { offer, prompt }: PendingOffer,
): Effect.fn.Return<void, BrokerError> {
  const { epoch, ticket } = offer;
  const work = Messages.leaseMessage.encode({ protocol: Messages.PROTOCOL, epoch, ticket, prompt });
  const messageNumber = yield* dispatcher.options.broker.offer(work, ticket);
  if (dispatcher.leases.isOpen(offer)) return dispatcher.recordStored(offer, messageNumber);
  // The group was reclaimed or closed meanwhile.
  yield* Effect.ignore(dispatcher.options.broker.withdraw(messageNumber));
});

/** Stores new offers. Those that are made while others are being stored leave together, in one write. */
const publishOffers = (dispatcher: GroupDispatcher): Effect.Effect<never, BrokerError> =>
  Effect.forever(
    Effect.flatMap(Queue.takeBetween(dispatcher.offers, 1, OFFERS_AT_ONCE), (offers) =>
      Effect.forEach(offers, (offer) => storeOffer(dispatcher, offer), { concurrency: "unbounded", discard: true }),
    ),
  );

/**
 * Asks the broker for overdue offers, and reclaims those that it does not have. Without workers, all offers that nobody holds are
 * reclaimed.
 */
const checkDeadlines = Effect.fnUntraced(function* (dispatcher: GroupDispatcher, now: number) {
  const { broker } = dispatcher.options;
  for (const change of dispatcher.roster.expire(now)) dispatcher.tellChange(change);
  if (dispatcher.roster.totals().workers === 0) {
    for (const offer of dispatcher.leases.unclaimedOffers()) {
      const messageNumber = dispatcher.messageNumberOf(offer);
      dispatcher.reclaim(offer);
      if (messageNumber !== undefined) yield* Effect.ignore(broker.withdraw(messageNumber));
    }
  }
  const checkOffer = Effect.fnUntraced(function* (offer: Offer) {
    const messageNumber = dispatcher.messageNumberOf(offer);
    // An offer without a number is still on its way to the broker.
    const isStored = messageNumber === undefined || (yield* broker.has(messageNumber));
    if (isStored) dispatcher.leases.confirm(offer, now);
    else dispatcher.reclaim(offer);
  });
  yield* Effect.forEach(dispatcher.leases.overdueOffers(now), checkOffer, {
    concurrency: CHECKS_AT_ONCE,
    discard: true,
  });
  dispatcher.dispatch();
});

const earliest = (...times: readonly (number | undefined)[]): number | undefined => {
  const defined = times.filter((time) => time !== undefined);
  return defined.length === 0 ? undefined : Math.min(...defined);
};

/** Wakes at each deadline. A new deadline is never before the standing ones. */
const watchDeadlines = (dispatcher: GroupDispatcher, now: () => number): Effect.Effect<never, BrokerError> =>
  Effect.forever(
    Effect.suspend(() => {
      const deadline = earliest(dispatcher.leases.nextDeadline, dispatcher.roster.nextDeadline);
      if (deadline === undefined) {
        dispatcher.deadlineChanged.closeUnsafe();
        return dispatcher.deadlineChanged.await;
      }
      return deadline > now() ? Effect.sleep(deadline - now()) : checkDeadlines(dispatcher, now());
    }),
  );

/** Closes a group, and withdraws its offer if one is open. */
const cancelGroup = (dispatcher: GroupDispatcher, group: number): Effect.Effect<void> =>
  Effect.suspend(() => {
    const messageNumber = dispatcher.close(group);
    return messageNumber === undefined ? Effect.void : Effect.ignore(dispatcher.options.broker.withdraw(messageNumber));
  });

/** Plays a group in this process. */
const playLocally = Effect.fnUntraced(function* (
  dispatcher: GroupDispatcher,
  rollout: Rollout,
  mode: PlayMode,
  prompt: Prompt,
) {
  let unreleased = prompt.size;
  const release = (episodes: number): void => {
    unreleased -= episodes;
    dispatcher.localBudget?.release(episodes);
  };
  const playing = GroupProgram.play(
    rollout,
    withEpisodeEnds(mode, () => release(1)),
    prompt,
  );
  // A group that ends before its episodes have begun releases all of its slots.
  return yield* Effect.ensuring(
    playing,
    Effect.sync(() => release(unreleased)),
  );
});

const workerMetrics = ({ acceptedResults, dropCounts, receivedBytes, roster }: GroupDispatcher) => {
  const { oldestVersion, playing, slots, tokensPerSecond, workers } = roster.totals();
  return metricsFrom(
    [metrics.joined, workers],
    [metrics.slots, slots],
    [metrics.playing, playing],
    [metrics.tokensPerSecond, tokensPerSecond],
    [metrics.oldest, oldestVersion],
    [metrics.results, acceptedResults],
    [metrics.resultBytes, receivedBytes],
    [metrics.duplicate, dropCounts.duplicate],
    [metrics.late, dropCounts.late],
    [metrics.otherRun, dropCounts.other_run],
    [metrics.stale, dropCounts.stale],
    [metrics.refused, dropCounts.refused + dropCounts.not_leased],
    [metrics.shutOut, roster.shutOutNames.length],
  );
};

/** Receives results and gauges from the broker and dispatches groups, for the life of the scope. */
export const make = Effect.fnUntraced(function* (
  options: RemoteGroupsOptions,
): Effect.fn.Return<RemoteGroups, BrokerError, Scope.Scope> {
  const { broker } = options;
  const clock = yield* Clock.Clock;
  const now = (): number => monotonicMillisOf(clock);
  const times = { now, date: () => clock.currentTimeMillisUnsafe() };
  const dispatcher = new GroupDispatcher(options, times, yield* Queue.unbounded<PendingOffer>());
  const run = yield* FiberSet.makeRuntime<never>();
  yield* broker.listen({
    result: (message) => void run(receiveResult(dispatcher, message)),
    gauges: (worker, bytes) => void run(receiveGauges(dispatcher, worker, bytes)),
  });
  const broken = Deferred.makeUnsafe<never, PolicyError>();
  const working = Effect.all(
    [...Array.from({ length: PUBLISHERS }, () => publishOffers(dispatcher)), watchDeadlines(dispatcher, now)],
    {
      concurrency: "unbounded",
      discard: true,
    },
  );
  yield* Effect.forkScoped(
    Effect.onExit(Effect.mapError(working, brokerFailure), (exit) =>
      Exit.isFailure(exit) ? Deferred.failCause(broken, exit.cause) : Effect.void,
    ),
  );
  return {
    play: Effect.fnUntraced(
      function* (rollout, mode, prompt) {
        const assignment = yield* dispatcher.assign(prompt);
        return assignment._tag === "Played" ? assignment.group : yield* playLocally(dispatcher, rollout, mode, prompt);
      },
      (playing, _rollout, _mode, { group }) =>
        Effect.onExit(playing, (exit) => (Exit.isSuccess(exit) ? Effect.void : cancelGroup(dispatcher, group))),
    ),
    confirmFinished: ({ prompt }) => cancelGroup(dispatcher, prompt.group),
    metrics: () => workerMetrics(dispatcher),
    died: Deferred.await(broken),
  };
});
