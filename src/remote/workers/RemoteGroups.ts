/**
 * Plays groups on workers, and here where there is room: the learner's side of the lease book over a broker. As many groups are offered as the
 * workers that are up can take, and one more each; the rest wait here. Invariants: a group's result is acknowledged after it is in the books
 * and not before; a result that is dropped is acknowledged and counted; whatever workers and broker do, a group waits, is out, or is played.
 */
import { Clock, Deferred, Effect, Exit, FiberSet, Queue, type Scope } from "effect";
import { PolicyError } from "../../domain/Errors.ts";
import type { Prompt } from "../../domain/Group.ts";
import { monotonicMillisOf } from "../../domain/Instant.ts";
import { measured } from "../../domain/metrics/Metrics.ts";
import { workers as metrics } from "../../domain/metrics/run.ts";
import type { GroupPlayer } from "../../rollout/Groups.ts";
import * as GroupProgram from "../../rollout/group.ts";
import type { Mode, Rollout } from "../../rollout/Rollout.ts";
import { Book, type Made, REFUSALS, type RemoteGroupsOptions } from "./Book.ts";
import type { BrokerError, ResultMessage } from "./Broker.ts";
import type { Offer } from "./Lease.ts";
import * as Messages from "./Messages.ts";
import * as Parts from "./Parts.ts";
import { counting } from "./Room.ts";

export interface RemoteGroups extends GroupPlayer {
  /** Suspends until the broker refuses for good, and fails. */
  readonly died: Effect.Effect<never, PolicyError>;
}

/** Offers that leave together at most, and how many such lots may be on their way. */
const TOGETHER = 64;
const PUBLISHERS = 4;
/** Questions to the broker at once. */
const ASKED = 8;

const refusedBy = ({ cause, message }: BrokerError): PolicyError =>
  new PolicyError({ reason: "session_failed", message: `the broker of the workers refuses: ${message}`, cause });

/** Takes offers away from the broker, where they are still there. */
const withdrawn = ({ options: { broker } }: Book, sequences: readonly number[]): Effect.Effect<void> =>
  Effect.forEach(sequences, (sequence) => Effect.ignore(broker.withdraw(sequence)), { discard: true });

/** Takes one part of a result in. */
const receive = Effect.fnUntraced(function* (book: Book, message: ResultMessage) {
  const { bytes, worker } = message;
  book.resultBytes += bytes.length;
  let part: Parts.Part;
  try {
    part = Parts.read(bytes);
  } catch (error) {
    book.drop("refused", [message]);
    return yield* refusal(book, worker, error instanceof Parts.BadPart ? error.message : String(error));
  }
  const first = book.leases.judge(part.lease);
  if (book.roster.isShutOut(worker)) {
    if (first._tag === "Accepted") book.lost(part.lease);
    return book.drop("refused", [message], part.index === 0);
  }
  if (first._tag === "Dropped") {
    // A result in parts counts once, by its first part.
    const counted = part.index === 0;
    book.drop(first.why, [message], counted);
    if (counted && first.why === "not_leased") yield* refusal(book, worker, "it was never given that group");
    return;
  }
  const added = book.assembly.add(worker, part, message);
  if (added._tag === "Kept") return;
  if (added._tag === "GivenUp") {
    book.drop("refused", added.marks);
    return yield* refusal(book, worker, "the parts of a result do not fit together, or are too many");
  }
  const { lease, marks } = added.whole;
  const { newest, read } = book.options;
  const found = yield* read({ bytes: added.whole.bytes, prompt: first.prompt, newest: newest() });
  // Meanwhile another may have come.
  const judged = book.leases.judge(lease);
  if (judged._tag === "Dropped") return book.drop(judged.why, marks);
  if (found._tag === "Group") return book.accept(found.group, lease, worker, marks);
  const { flaw } = found;
  book.drop(flaw.kind, marks);
  book.lost(lease);
  // Of other weights is what a worker sends that is late: it need not be wrong.
  if (flaw.kind === "refused") yield* refusal(book, worker, flaw.why);
});

/** Counts a message of a worker that cannot be true, whether or not the worker has joined, and shuts the worker out after `REFUSALS` in a row. */
const refusal = Effect.fnUntraced(function* (book: Book, worker: string, why: string) {
  if (book.roster.isShutOut(worker)) return;
  const { inARow, times } = book.refusedOf(worker);
  // A worker that is wrong is wrong often, so only the 1st, 2nd, 4th, 8th … refusal is logged.
  if (Number.isInteger(Math.log2(times))) {
    yield* Effect.logWarning(`worker ${worker}: what it sent is refused (${times}): ${why}`);
  }
  if (inARow < REFUSALS) return;
  yield* withdrawn(book, book.shutOut(worker, why));
  yield* book.options.shutOut(book.roster.outside);
});

/** Takes in what a worker reports of itself. */
const hear = Effect.fnUntraced(function* (book: Book, worker: string, bytes: Uint8Array) {
  let gauges: Messages.Gauges;
  try {
    gauges = Messages.gauges.decode(bytes);
  } catch {
    book.drop("refused", []);
    return yield* refusal(book, worker, "its report of itself cannot be read");
  }
  yield* withdrawn(book, book.heard(worker, gauges));
});

/** Stores an offer at the broker. */
const store = Effect.fnUntraced(function* (book: Book, { offer, prompt }: Made): Effect.fn.Return<void, BrokerError> {
  const { epoch, ticket } = offer;
  const work = Messages.work.encode({ protocol: Messages.PROTOCOL, epoch, ticket, prompt });
  const sequence = yield* book.options.broker.offer(work, ticket);
  if (book.leases.isOut(offer)) return book.stored(offer, sequence);
  // Taken back meanwhile.
  yield* Effect.ignore(book.options.broker.withdraw(sequence));
});

/** Stores offers as they are made: those that are made while others are on their way leave together, in one write. */
const publish = (book: Book): Effect.Effect<never, BrokerError> =>
  Effect.forever(
    Effect.flatMap(Queue.takeBetween(book.offers, 1, TOGETHER), (made) =>
      Effect.forEach(made, (each) => store(book, each), { concurrency: "unbounded", discard: true }),
    ),
  );

/** What is overdue is asked for, and taken back where the broker does not have it; without workers everything that nobody holds comes back. */
const lookAfter = Effect.fnUntraced(function* (book: Book, now: number) {
  const { broker } = book.options;
  for (const change of book.roster.silent(now)) book.told(change);
  if (book.roster.totals().workers === 0) {
    for (const offer of book.leases.unheld()) {
      const sequence = book.sequenceOf(offer);
      book.lost(offer);
      if (sequence !== undefined) yield* Effect.ignore(broker.withdraw(sequence));
    }
  }
  const ask = Effect.fnUntraced(function* (offer: Offer) {
    const sequence = book.sequenceOf(offer);
    // Without one it is still on its way to the broker.
    const there = sequence === undefined || (yield* broker.has(sequence));
    if (there) book.leases.kept(offer, now);
    else book.lost(offer);
  });
  yield* Effect.forEach(book.leases.overdue(now), ask, { concurrency: ASKED, discard: true });
  book.pump();
});

const earliest = (...times: readonly (number | undefined)[]): number | undefined => {
  const known = times.filter((time) => time !== undefined);
  return known.length === 0 ? undefined : Math.min(...known);
};

/** Wakes at each deadline of the book. A new one is never before those that stand. */
const watch = (book: Book, now: () => number): Effect.Effect<never, BrokerError> =>
  Effect.forever(
    Effect.suspend(() => {
      const at = earliest(book.leases.deadline, book.roster.deadline);
      if (at === undefined) {
        book.due.closeUnsafe();
        return book.due.await;
      }
      return at > now() ? Effect.sleep(at - now()) : lookAfter(book, now());
    }),
  );

/** Ends what the book knows of a group; an offer of it that is still out is withdrawn. */
const takeBack = (book: Book, group: number): Effect.Effect<void> =>
  Effect.suspend(() => {
    const sequence = book.end(group);
    return sequence === undefined ? Effect.void : Effect.ignore(book.options.broker.withdraw(sequence));
  });

/** Plays a prompt whose turn has come in this process. */
const playHere = Effect.fnUntraced(function* (book: Book, rollout: Rollout, mode: Mode, prompt: Prompt) {
  let left = prompt.size;
  const give = (episodes: number): void => {
    left -= episodes;
    book.room?.give(episodes);
  };
  const played = GroupProgram.play(
    rollout,
    counting(mode, () => give(1)),
    prompt,
  );
  // A group that ends before its episodes have begun gives all of its places back.
  return yield* Effect.ensuring(
    played,
    Effect.sync(() => give(left)),
  );
});

const metricsOf = ({ counts, resultBytes, results, roster }: Book) => {
  const { oldest, playing, slots, tokensPerSecond, workers } = roster.totals();
  return measured(
    [metrics.joined, workers],
    [metrics.slots, slots],
    [metrics.playing, playing],
    [metrics.tokensPerSecond, tokensPerSecond],
    [metrics.oldest, oldest],
    [metrics.results, results],
    [metrics.resultBytes, resultBytes],
    [metrics.duplicate, counts.duplicate],
    [metrics.late, counts.late],
    [metrics.otherRun, counts.other_run],
    [metrics.stale, counts.stale],
    [metrics.refused, counts.refused + counts.not_leased],
    [metrics.shutOut, roster.outside.length],
  );
};

/** Takes results and gauges from the broker and offers groups, for the life of the scope. */
export const make = Effect.fnUntraced(function* (
  options: RemoteGroupsOptions,
): Effect.fn.Return<RemoteGroups, BrokerError, Scope.Scope> {
  const { broker } = options;
  const clock = yield* Clock.Clock;
  const now = (): number => monotonicMillisOf(clock);
  const times = { now, date: () => clock.currentTimeMillisUnsafe() };
  const book = new Book(options, times, yield* Queue.unbounded<Made>());
  const run = yield* FiberSet.makeRuntime<never>();
  yield* broker.listen({
    result: (message) => void run(receive(book, message)),
    gauges: (worker, bytes) => void run(hear(book, worker, bytes)),
  });
  const broken = Deferred.makeUnsafe<never, PolicyError>();
  const working = Effect.all([...Array.from({ length: PUBLISHERS }, () => publish(book)), watch(book, now)], {
    concurrency: "unbounded",
    discard: true,
  });
  yield* Effect.forkScoped(
    Effect.onExit(Effect.mapError(working, refusedBy), (exit) =>
      Exit.isFailure(exit) ? Deferred.failCause(broken, exit.cause) : Effect.void,
    ),
  );
  return {
    play: Effect.fnUntraced(
      function* (rollout, mode, prompt) {
        const turn = yield* book.turnOf(prompt);
        return turn._tag === "Played" ? turn.group : yield* playHere(book, rollout, mode, prompt);
      },
      (played, _rollout, _mode, { group }) =>
        Effect.onExit(played, (exit) => (Exit.isSuccess(exit) ? Effect.void : takeBack(book, group))),
    ),
    booked: ({ prompt }) => takeBack(book, prompt.group),
    metrics: () => metricsOf(book),
    died: Deferred.await(broken),
  };
});
