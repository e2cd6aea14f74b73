/**
 * The learner's books of groups that may be played elsewhere: the lease book, the roster, unfinished results, and who waits for which group. It
 * decides who is given the next group, and starts nothing: a fiber beside it stores its offers. Invariants: a group's turn comes once; parts of
 * results are acknowledged with their group's end, or when they are dropped.
 */
import { Effect, Latch, Queue } from "effect";
import { cacheRows } from "../../config/maxPermits.ts";
import type { RunConfig } from "../../config/RunConfig.ts";
import type { Version } from "../../domain/Episode.ts";
import type { Group, Prompt } from "../../domain/Group.ts";
import type { TellServer } from "../../domain/Server.ts";
import type { LearnerBroker, ResultMessage } from "./Broker.ts";
import type { Offer } from "./Lease.ts";
import { type Dropped, LeaseBook } from "./LeaseBook.ts";
import type * as Messages from "./Messages.ts";
import * as Parts from "./Parts.ts";
import { Room } from "./Room.ts";
import { type Change, Roster } from "./Roster.ts";
import type { Read } from "./reading/Reader.ts";

export interface RemoteGroupsOptions {
  readonly config: RunConfig;
  readonly epoch: string;
  readonly broker: LearnerBroker;
  /** Makes a group of a result, or says what is wrong with it. */
  readonly read: Read;
  /** The newest version that workers can have. */
  readonly newest: () => Version;
  /** A ticket that nobody can guess. */
  readonly ticket: () => string;
  readonly tell: TellServer;
  /** Lets workers know that they are shut out: all that are. */
  readonly shutOut: (workers: readonly string[]) => Effect.Effect<void>;
}

/** What is counted of results that were not taken. */
export type Why = Dropped | "stale" | "refused";

/** How a prompt's turn comes: it is played here, or was played elsewhere. */
export type Turn = { readonly _tag: "Here" } | { readonly _tag: "Played"; readonly group: Group };

export type Part = Pick<ResultMessage, "acknowledge">;

/** A group that is to be stored at the broker. */
export interface Made {
  readonly prompt: Prompt;
  readonly offer: Offer;
}

/** Times of a lease without a word, until the broker is asked for it and its worker counts as lost. */
const PATIENCE = 3;
/** A worker is shut out once so many of its messages in a row were refused. */
export const REFUSALS = 5;
/** Of unfinished results together. */
const UNFINISHED_BYTES = 2 ** 29;
/** What time it is: one that never goes back for deadlines, and the date for people. */
export interface Times {
  readonly now: () => number;
  readonly date: () => number;
}

export class Book {
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
  readonly #times: Times;
  readonly #turns = new Map<number, (turn: Turn) => void>();
  /** Where the broker keeps an offer, by its ticket. */
  readonly #sequences = new Map<string, number>();
  readonly #parts = new Map<number, readonly Part[]>();
  readonly #refused = new Map<string, number>();
  /** Of each worker, those since its last result that was taken. */
  readonly #inARow = new Map<string, number>();
  #pumping = false;

  constructor(options: RemoteGroupsOptions, times: Times, offers: Queue.Queue<Made>) {
    const { config, epoch } = options;
    const { lease_ms, local } = config.pipeline.workers;
    this.options = options;
    this.offers = offers;
    this.#times = times;
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

  /** Takes in a worker's report of itself. Returns the broker's sequences of leases that the worker holds and should not have. */
  heard(worker: string, gauges: Messages.Gauges): readonly number[] {
    // A worker of the start before finds out by the description that there is another one.
    if (gauges.epoch !== this.options.epoch) return [];
    if (this.roster.isShutOut(worker)) return this.#takenBack(gauges.leases);
    const now = this.#times.now();
    for (const lease of gauges.leases) this.leases.heard(lease, worker, now);
    const change = gauges.leaves ? this.roster.left(worker) : this.roster.heard(worker, gauges, now);
    if (change !== undefined) this.told(change);
    this.pump();
    return [];
  }

  told({ to, why, worker }: Change): void {
    const state = to === "Up" ? ({ _tag: to } as const) : ({ _tag: to, since: this.#times.date(), why } as const);
    this.options.tell({ role: "worker", name: worker, state });
  }

  /** Gives a worker nothing more: what it holds goes to others. Where the broker keeps its leases. */
  shutOut(worker: string, why: string): readonly number[] {
    const held = this.leases.heldBy(worker);
    this.told(
      this.roster.shutOut(worker, `${REFUSALS} of its messages in a row were refused, the last because ${why}`),
    );
    return this.#takenBack(held);
  }

  /** Parts that are of no use any more; a result is counted once. */
  drop(why: Why, parts: readonly Part[], counted = true): void {
    if (counted) this.counts[why]++;
    for (const { acknowledge } of parts) Effect.runSync(acknowledge);
  }

  /** Counts one more refused message of a worker. Returns how many it has, and how many since its last result that was accepted. */
  refusedOf(worker: string): { readonly times: number; readonly inARow: number } {
    const more = (counts: Map<string, number>): number => {
      const times = (counts.get(worker) ?? 0) + 1;
      counts.set(worker, times);
      return times;
    };
    return { times: more(this.#refused), inARow: more(this.#inARow) };
  }

  /** A result was accepted. */
  accept(group: Group, { ticket }: Offer, worker: string, parts: readonly Part[]): void {
    this.leases.accept({ group: group.prompt.group }, worker);
    this.#inARow.delete(worker);
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

  /** Offers that whoever has them may not play. */
  #takenBack(offers: readonly Offer[]): readonly number[] {
    return offers.flatMap((offer) => {
      if (!this.leases.isOut(offer)) return [];
      const sequence = this.sequenceOf(offer);
      this.lost(offer);
      return sequence === undefined ? [] : [sequence];
    });
  }

  /** Gives the next group to whoever would have the smaller share of its room taken; false where nobody has any. */
  #giveOne(): boolean {
    const { groups, workers } = this.roster.totals();
    const [out, room] = [this.leases.out, groups + workers];
    const here = this.room?.free === true ? this.room.share : Number.POSITIVE_INFINITY;
    const there = out < room ? (out + 1) / room : Number.POSITIVE_INFINITY;
    if (Math.min(here, there) === Number.POSITIVE_INFINITY) return false;
    if (there < here) {
      const made = this.leases.offer(this.options.ticket(), this.#times.now());
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
