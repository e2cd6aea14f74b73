/**
 * Plays groups on workers, and here where there is room: the learner's side of the lease book over a broker. As many groups are offered as the
 * workers that are up can take, and one more each; the rest wait here. Invariants: a group's result is acknowledged after it is in the books
 * and not before; a result that is dropped is acknowledged and counted; whatever workers and broker do, a group waits, is out, or is played.
 */
import { Clock, Deferred, Effect, Exit, FiberSet, Latch, Queue, type Scope } from "effect";
import { cacheRows } from "../../config/mostSlots.ts";
import type { RunConfig } from "../../config/RunConfig.ts";
import type { Version } from "../../domain/Episode.ts";
import { PolicyError } from "../../domain/Errors.ts";
import type { Group, Prompt } from "../../domain/Group.ts";
import { measured } from "../../domain/metrics/Metrics.ts";
import { workers as metrics } from "../../domain/metrics/run.ts";
import type { TellServer } from "../../domain/Server.ts";
import type { GroupPlayer } from "../../rollout/Groups.ts";
import * as GroupProgram from "../../rollout/group.ts";
import type { Mode, Rollout } from "../../rollout/Rollout.ts";
import type { BrokerError, LearnerBroker, ResultMessage } from "./Broker.ts";
import { flawOf } from "./examine.ts";
import * as GroupCodec from "./GroupCodec.ts";
import type { Offer } from "./Lease.ts";
import { type Dropped, LeaseBook } from "./LeaseBook.ts";
import * as Messages from "./Messages.ts";
import * as Parts from "./Parts.ts";
import { counting, Room } from "./Room.ts";
import { type Change, Roster } from "./Roster.ts";

export interface RemoteGroupsOptions {
  readonly config: RunConfig;
  readonly epoch: string;
  readonly broker: LearnerBroker;
  /** Ids are below it. */
  readonly vocabulary: number;
  /** The newest version that workers can have. */
  readonly newest: () => Version;
  /** A ticket that nobody can guess. */
  readonly ticket: () => string;
  readonly tell: TellServer;
}

export interface RemoteGroups extends GroupPlayer {
  /** Suspends until the broker refuses for good, and fails. */
  readonly died: Effect.Effect<never, PolicyError>;
}

/** What is counted of results that were not taken. */
type Why = Dropped | "stale" | "refused";

/** How a prompt's turn comes: it is played here, or was played elsewhere. */
type Turn = { readonly _tag: "Here" } | { readonly _tag: "Played"; readonly group: Group };

type Part = Pick<ResultMessage, "acknowledge">;

/** A group that is to be stored at the broker. */
interface Made {
  readonly prompt: Prompt;
  readonly offer: Offer;
}

/** Times of a lease without a word, until the broker is asked for it and its worker counts as lost. */
const PATIENCE = 3;
/** Of unfinished results together. */
const UNFINISHED_BYTES = 2 ** 29;
const PUBLISHERS = 8;

const refusedBy = ({ cause, message }: BrokerError): PolicyError =>
  new PolicyError({ reason: "session_failed", message: `the broker of the workers refuses: ${message}`, cause });

class Book {
  readonly options: RemoteGroupsOptions;
  readonly leases: LeaseBook;
  readonly roster: Roster;
  /** Null where no group is played here. */
  readonly room: Room | null;
  readonly offers: Queue.Queue<Made>;
  readonly assembly = new Parts.Assembly<Part>(UNFINISHED_BYTES);
  readonly counts: Record<Why, number> = { duplicate: 0, late: 0, other_run: 0, not_leased: 0, stale: 0, refused: 0 };
  /** Opens whenever a time to look after something may have come into being. */
  readonly due = Latch.makeUnsafe(false);
  results = 0;
  resultBytes = 0;
  readonly #now: () => number;
  readonly #turns = new Map<number, (turn: Turn) => void>();
  /** Where the broker keeps an offer, by its ticket. */
  readonly #sequences = new Map<string, number>();
  readonly #parts = new Map<number, readonly Part[]>();
  #pumping = false;

  constructor(options: RemoteGroupsOptions, now: () => number, offers: Queue.Queue<Made>) {
    const { config, epoch } = options;
    const { lease_ms, local } = config.pipeline.workers;
    this.options = options;
    this.offers = offers;
    this.#now = now;
    this.leases = new LeaseBook(epoch, PATIENCE * lease_ms);
    this.roster = new Roster(PATIENCE * lease_ms);
    this.room = local ? new Room(cacheRows(config), () => this.pump()) : null;
  }

  /** Suspends until the prompt's turn has come. */
  turnOf(prompt: Prompt): Effect.Effect<Turn> {
    return Effect.callback((resume) => {
      this.#turns.set(prompt.group, (turn) => resume(Effect.succeed(turn)));
      this.leases.admit(prompt);
      this.pump();
    });
  }

  /** Gives out what can be given out. */
  pump(): void {
    // Whoever is resumed may come back here at once.
    if (this.#pumping) return;
    this.#pumping = true;
    while (this.leases.waiting > 0 && this.#giveOne()) {}
    this.#pumping = false;
    this.due.openUnsafe();
  }

  /** A worker spoke. */
  heard(worker: string, bytes: Uint8Array): void {
    let gauges: Messages.Gauges;
    try {
      gauges = Messages.gauges.decode(bytes);
    } catch {
      this.counts.refused++;
      return;
    }
    // A worker of the start before finds out by the description that there is another one.
    if (gauges.epoch !== this.options.epoch) return;
    const now = this.#now();
    for (const lease of gauges.leases) this.leases.heard(lease, worker, now);
    const change = gauges.leaves ? this.roster.left(worker) : this.roster.heard(worker, gauges, now);
    if (change !== undefined) this.told(change);
    this.pump();
  }

  told({ up, why, worker }: Change): void {
    const { tell } = this.options;
    const state = up ? ({ _tag: "Up" } as const) : ({ _tag: "Lost", since: Date.now(), why } as const);
    tell({ role: "worker", name: worker, state });
  }

  drop(why: Why, parts: readonly Part[]): void {
    this.counts[why]++;
    for (const { acknowledge } of parts) Effect.runSync(acknowledge);
  }

  /** A result was accepted. */
  accept(group: Group, { ticket }: Offer, worker: string, parts: readonly Part[]): void {
    this.leases.accept({ group: group.prompt.group }, worker);
    this.#sequences.delete(ticket);
    this.#parts.set(group.prompt.group, parts);
    this.results++;
    this.#resume(group.prompt.group, { _tag: "Played", group });
    this.pump();
  }

  /** The offer has come to nothing. */
  lost(offer: Offer): void {
    this.#sequences.delete(offer.ticket);
    if (this.leases.lost(offer)) this.pump();
  }

  stored(offer: Offer, sequence: number): void {
    this.#sequences.set(offer.ticket, sequence);
  }

  sequenceOf({ ticket }: Offer): number | undefined {
    return this.#sequences.get(ticket);
  }

  /** The group is in the books, or is not wanted any more; the sequence to withdraw. */
  end(group: number): number | undefined {
    const offer = this.leases.end(group);
    this.#turns.delete(group);
    const parts = [...(this.#parts.get(group) ?? []), ...this.assembly.giveUp(group)];
    this.#parts.delete(group);
    for (const { acknowledge } of parts) Effect.runSync(acknowledge);
    const sequence = offer && this.#sequences.get(offer.ticket);
    if (offer !== undefined) this.#sequences.delete(offer.ticket);
    this.pump();
    return sequence;
  }

  /** Gives the next group to whoever would have the smaller share of its room taken; false where nobody has any. */
  #giveOne(): boolean {
    const { groups, workers } = this.roster.totals();
    const [out, room] = [this.leases.out, groups + workers];
    const here = this.room?.free === true ? this.room.share : Number.POSITIVE_INFINITY;
    const there = out < room ? (out + 1) / room : Number.POSITIVE_INFINITY;
    if (Math.min(here, there) === Number.POSITIVE_INFINITY) return false;
    if (there < here) {
      const made = this.leases.offer(this.options.ticket(), this.#now());
      if (made !== undefined) Queue.offerUnsafe(this.offers, made);
      return true;
    }
    const prompt = this.leases.takeHere();
    if (prompt === undefined) return false;
    this.room?.take(prompt.size);
    this.#resume(prompt.group, { _tag: "Here" });
    return true;
  }

  #resume(group: number, turn: Turn): void {
    const resume = this.#turns.get(group);
    this.#turns.delete(group);
    resume?.(turn);
  }
}

/** Takes one part of a result in. */
const receive = Effect.fnUntraced(function* (book: Book, message: ResultMessage) {
  const { bytes, worker } = message;
  book.resultBytes += bytes.length;
  let part: Parts.Part;
  try {
    part = Parts.read(bytes);
  } catch {
    return book.drop("refused", [message]);
  }
  const first = book.leases.judge(part.lease, worker);
  if (first._tag === "Dropped") return book.drop(first.why, [message]);
  const added = book.assembly.add(worker, part, message);
  if (added._tag === "Kept") return;
  if (added._tag === "GivenUp") return book.drop("refused", added.marks);
  const { lease, marks } = added.whole;
  const read = yield* Effect.result(GroupCodec.decode(added.whole.bytes, first.prompt));
  // Meanwhile another may have come.
  const judged = book.leases.judge(lease, worker);
  if (judged._tag === "Dropped") return book.drop(judged.why, marks);
  const { config, newest, vocabulary } = book.options;
  const flaw =
    read._tag === "Failure"
      ? ({ kind: "refused", why: read.failure.message } as const)
      : flawOf(read.success, { limits: config.rollout, vocabulary, newest: newest() });
  if (flaw === undefined && read._tag === "Success") return book.accept(read.success, lease, worker, marks);
  book.drop(flaw?.kind ?? "refused", marks);
  yield* Effect.logWarning(`worker ${worker}: a group is refused and played again: ${flaw?.why}`);
  book.lost(lease);
});

/** Stores offers at the broker, as they are made. */
const publish = (book: Book): Effect.Effect<never, BrokerError> =>
  Effect.forever(
    Effect.gen(function* () {
      const { offer, prompt } = yield* Queue.take(book.offers);
      const { epoch, ticket } = offer;
      const work = Messages.work.encode({ protocol: Messages.PROTOCOL, epoch, ticket, prompt });
      const sequence = yield* book.options.broker.offer(work, ticket);
      // Taken back meanwhile.
      if (!book.leases.isOut(offer)) return yield* Effect.ignore(book.options.broker.withdraw(sequence));
      book.stored(offer, sequence);
    }),
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
  yield* Effect.forEach(book.leases.overdue(now), ask, { concurrency: PUBLISHERS, discard: true });
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
  );
};

/** Takes results and gauges from the broker and offers groups, for the life of the scope. */
export const make = Effect.fnUntraced(function* (
  options: RemoteGroupsOptions,
): Effect.fn.Return<RemoteGroups, BrokerError, Scope.Scope> {
  const { broker } = options;
  const clock = yield* Clock.Clock;
  const now = (): number => Number(clock.monotonicTimeNanosUnsafe() / 1_000_000n);
  const book = new Book(options, now, yield* Queue.unbounded<Made>());
  const run = yield* FiberSet.makeRuntime<never>();
  yield* broker.listen({
    result: (message) => void run(receive(book, message)),
    gauges: (worker, bytes) => book.heard(worker, bytes),
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
