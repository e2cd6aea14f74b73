/**
 * Dispatches the learner's groups: each goes to this process or, as an offer, to the workers. It owns the lease table, the roster and
 * incomplete results, and starts no fibers: others store its offers. Invariants: each group is assigned once; parts of results are
 * acknowledged when their group closes, or when they are dropped.
 */
import { Effect, Latch, Queue } from "effect";
import { cacheRows } from "../../config/maxPermits.ts";
import type { RunConfig } from "../../config/RunConfig.ts";
import type { Version } from "../../domain/Episode.ts";
import type { Group, Prompt } from "../../domain/Group.ts";
import type { ReportServer } from "../../domain/Server.ts";
import type { LearnerBroker, ResultMessage } from "./Broker.ts";
import { EpisodeBudget } from "./EpisodeBudget.ts";
import type { Offer } from "./Lease.ts";
import { LeaseTable, type RejectReason } from "./LeaseTable.ts";
import type * as Messages from "./Messages.ts";
import * as ResultParts from "./ResultParts.ts";
import { Roster, type RosterChange } from "./Roster.ts";
import type { ReadResult } from "./reading/ResultReader.ts";

export interface RemoteGroupsOptions {
  readonly config: RunConfig;
  /** Identifies this start of the learner, so that workers of an earlier one notice. */
  readonly epoch: string;
  readonly broker: LearnerBroker;
  /** Decodes and checks a result. */
  readonly readResult: ReadResult;
  /** The newest version that workers can fetch. */
  readonly newestVersion: () => Version;
  /** Draws a ticket that nobody can guess. */
  readonly drawTicket: () => string;
  /** Reports that a worker came, went or was shut out. */
  readonly tell: ReportServer;
  /** Announces all workers that are shut out. */
  readonly announceShutOut: (workers: readonly string[]) => Effect.Effect<void>;
}

/** Reasons by which refused results are counted. */
export type DropReason = RejectReason | "stale" | "refused";

/** The learner plays the group itself, or a worker has played it. */
export type Assignment = { readonly _tag: "Local" } | { readonly _tag: "Played"; readonly group: Group };

/** A message that the broker redelivers until it is acknowledged. */
export type Acknowledgeable = Pick<ResultMessage, "acknowledge">;

/** An offer that is not yet stored at the broker. */
export interface PendingOffer {
  readonly prompt: Prompt;
  readonly offer: Offer;
}

/** After so many lease times without news a worker counts as lost, and the broker is asked whether it still has the lease. */
const SILENT_LEASES = 3;
/** So many refused messages in a row shut a worker out. */
export const MOST_REFUSALS = 5;
/** Memory for incomplete results, bytes. */
const UNFINISHED_BYTES = 2 ** 29;
/** A monotonic clock for deadlines, and the date for people; both in milliseconds. */
export interface Clocks {
  readonly now: () => number;
  readonly date: () => number;
}

export class GroupDispatcher {
  readonly options: RemoteGroupsOptions;
  readonly leases: LeaseTable;
  readonly roster: Roster;
  /** Null when the learner plays no groups itself. */
  readonly localBudget: EpisodeBudget | null;
  readonly offers: Queue.Queue<PendingOffer>;
  readonly assembler = new ResultParts.ResultAssembler<Acknowledgeable>(UNFINISHED_BYTES);
  readonly dropCounts: Record<DropReason, number> = {
    duplicate: 0,
    late: 0,
    other_run: 0,
    not_leased: 0,
    stale: 0,
    refused: 0,
  };
  /** Opens whenever a new deadline may have come into being. */
  readonly deadlineChanged = Latch.makeUnsafe(false);
  acceptedResults = 0;
  /** Bytes of all results that arrived, those that were not accepted included. */
  receivedBytes = 0;
  readonly #clocks: Clocks;
  readonly #waiters = new Map<number, (assignment: Assignment) => void>();
  /** The broker's number of the stored message of each offer, by ticket. */
  readonly #messageNumbers = new Map<string, number>();
  readonly #parts = new Map<number, readonly Acknowledgeable[]>();
  readonly #refusals = new Map<string, number>();
  /** Refused messages of each worker since its last accepted result. */
  readonly #refusalsInARow = new Map<string, number>();
  #isDispatching = false;

  constructor(options: RemoteGroupsOptions, clocks: Clocks, offers: Queue.Queue<PendingOffer>) {
    const { config, epoch } = options;
    const { lease_ms, local } = config.pipeline.workers;
    this.options = options;
    this.offers = offers;
    this.#clocks = clocks;
    this.leases = new LeaseTable(epoch, SILENT_LEASES * lease_ms);
    this.roster = new Roster(SILENT_LEASES * lease_ms);
    this.localBudget = local ? new EpisodeBudget(cacheRows(config), () => this.dispatch()) : null;
  }

  /** Suspends until the group is assigned. */
  assign(prompt: Prompt): Effect.Effect<Assignment> {
    return Effect.callback((resume) => {
      this.#waiters.set(prompt.group, (assignment) => resume(Effect.succeed(assignment)));
      this.leases.admit(prompt);
      this.dispatch();
    });
  }

  /** Assigns waiting groups for as long as anybody has room. */
  dispatch(): void {
    // A resumed fiber may call this function at once.
    if (this.#isDispatching) return;
    this.#isDispatching = true;
    while (this.leases.waitingCount > 0 && this.#dispatchOne()) {}
    this.#isDispatching = false;
    this.deadlineChanged.openUnsafe();
  }

  /** Takes a worker's report. Returns the message numbers of leases that the worker holds and must not have. */
  takeReport(worker: string, gauges: Messages.WorkerGauges): readonly number[] {
    // A worker that still serves an earlier start of the learner finds the new epoch in the run's description.
    if (gauges.epoch !== this.options.epoch) return [];
    if (this.roster.isShutOut(worker)) return this.#reclaimAll(gauges.leases);
    const now = this.#clocks.now();
    for (const lease of gauges.leases) this.leases.renew(lease, worker, now);
    const change = gauges.leaves ? this.roster.leave(worker) : this.roster.report(worker, gauges, now);
    if (change !== undefined) this.tellChange(change);
    this.dispatch();
    return [];
  }

  tellChange({ to, why, worker }: RosterChange): void {
    const state = to === "Up" ? ({ _tag: to } as const) : ({ _tag: to, since: this.#clocks.date(), why } as const);
    this.options.tell({ role: "worker", name: worker, state });
  }

  /** Shuts a worker out and reclaims its leases. Returns their message numbers. */
  shutOut(worker: string, why: string): readonly number[] {
    const heldOffers = this.leases.offersHeldBy(worker);
    this.tellChange(
      this.roster.shutOut(worker, `${MOST_REFUSALS} of its messages in a row were refused, the last because ${why}`),
    );
    return this.#reclaimAll(heldOffers);
  }

  /** Acknowledges parts that nobody needs. A result of many parts is counted once. */
  drop(why: DropReason, parts: readonly Acknowledgeable[], isCounted = true): void {
    if (isCounted) this.dropCounts[why]++;
    for (const { acknowledge } of parts) Effect.runSync(acknowledge);
  }

  /** Counts a refused message. Returns the worker's total, and its count since its last accepted result. */
  countRefusal(worker: string): { readonly times: number; readonly inARow: number } {
    const increment = (counts: Map<string, number>): number => {
      const count = (counts.get(worker) ?? 0) + 1;
      counts.set(worker, count);
      return count;
    };
    return { times: increment(this.#refusals), inARow: increment(this.#refusalsInARow) };
  }

  /** Accepts a result and resumes the fiber that waits for its group. */
  accept(group: Group, { ticket }: Offer, worker: string, parts: readonly Acknowledgeable[]): void {
    this.leases.accept({ group: group.prompt.group }, worker);
    this.#refusalsInARow.delete(worker);
    this.#messageNumbers.delete(ticket);
    this.#parts.set(group.prompt.group, parts);
    this.acceptedResults++;
    this.#resume(group.prompt.group, { _tag: "Played", group });
    this.dispatch();
  }

  /** Reclaims a lost offer: its group waits again. */
  reclaim(offer: Offer): void {
    this.#messageNumbers.delete(offer.ticket);
    if (this.leases.reclaim(offer)) this.dispatch();
  }

  recordStored(offer: Offer, messageNumber: number): void {
    this.#messageNumbers.set(offer.ticket, messageNumber);
  }

  messageNumberOf({ ticket }: Offer): number | undefined {
    return this.#messageNumbers.get(ticket);
  }

  /** Forgets a group that is recorded or cancelled. Returns the message number of its offer if that must be withdrawn. */
  close(group: number): number | undefined {
    const offer = this.leases.close(group);
    this.#waiters.delete(group);
    const parts = [...(this.#parts.get(group) ?? []), ...this.assembler.discard(group)];
    this.#parts.delete(group);
    for (const { acknowledge } of parts) Effect.runSync(acknowledge);
    const messageNumber = offer && this.#messageNumbers.get(offer.ticket);
    if (offer !== undefined) this.#messageNumbers.delete(offer.ticket);
    this.dispatch();
    return messageNumber;
  }

  /** Reclaims offers from a holder that may not play them. Returns their message numbers. */
  #reclaimAll(offers: readonly Offer[]): readonly number[] {
    return offers.flatMap((offer) => {
      if (!this.leases.isOpen(offer)) return [];
      const messageNumber = this.messageNumberOf(offer);
      this.reclaim(offer);
      return messageNumber === undefined ? [] : [messageNumber];
    });
  }

  /** Assigns the next group to the less loaded side, the workers or this process. Returns false if neither has room. */
  #dispatchOne(): boolean {
    const { groups, workers } = this.roster.totals();
    // One group more for each worker waits there, so that a worker need not wait for the broker between two groups.
    const [openCount, mostOpen] = [this.leases.openCount, groups + workers];
    const localShare = this.localBudget?.hasRoom === true ? this.localBudget.usedShare : Number.POSITIVE_INFINITY;
    const remoteShare = openCount < mostOpen ? (openCount + 1) / mostOpen : Number.POSITIVE_INFINITY;
    if (Math.min(localShare, remoteShare) === Number.POSITIVE_INFINITY) return false;
    if (remoteShare < localShare) {
      const pending = this.leases.offer(this.options.drawTicket(), this.#clocks.now());
      if (pending !== undefined) Queue.offerUnsafe(this.offers, pending);
      return true;
    }
    const prompt = this.leases.takeLocal();
    if (prompt === undefined) return false;
    this.localBudget?.acquire(prompt.size);
    this.#resume(prompt.group, { _tag: "Local" });
    return true;
  }

  #resume(group: number, assignment: Assignment): void {
    const resume = this.#waiters.get(group);
    this.#waiters.delete(group);
    resume?.(assignment);
  }
}
