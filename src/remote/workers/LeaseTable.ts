/**
 * Tracks every group that workers may play, as a state machine without a clock, fibers or a broker:
 *
 *   waiting → local | offered → leased → played → (recorded: gone)     offered, leased → waiting, when the offer is lost or refused
 *
 * Invariants: a group is accepted at most once until it is recorded; a result counts only under the newest ticket of its group and the newest
 * known delivery; the broker is asked for an overdue lease, which no clock alone declares lost; groups wait in order of admission, but urgent
 * and reclaimed ones go first.
 */
import type { Prompt } from "../../domain/Group.ts";
import type { Lease, Offer } from "./Lease.ts";

type GroupState =
  | { readonly _tag: "Waiting" }
  /** The learner's process plays it. */
  | { readonly _tag: "Local" }
  /** Published; no worker is known to hold it. */
  | { readonly _tag: "Offered"; readonly ticket: string }
  | { readonly _tag: "Leased"; readonly ticket: string; readonly worker: string; readonly delivery: number }
  /** Its result is accepted, and its group is not recorded yet. */
  | { readonly _tag: "Played"; readonly worker: string };

interface TrackedGroup {
  readonly prompt: Prompt;
  state: GroupState;
}

/** The reason for which a result is refused. */
export type RejectReason =
  /** The group has a result already. */
  | "duplicate"
  /** The offer was withdrawn, or a later holder has the lease. */
  | "late"
  /** Another start of the run made the offer. */
  | "other_run"
  /** This run never made such an offer. */
  | "not_leased";

export type LeaseCheck =
  | { readonly _tag: "Accepted"; readonly prompt: Prompt }
  | { readonly _tag: "Dropped"; readonly why: RejectReason };

/** The table remembers so many closed groups, to tell a late second result from one that nobody was asked for. */
const MOST_ENDED = 65_536;

export class LeaseTable {
  readonly #epoch: string;
  readonly #silentMs: number;
  readonly #groups = new Map<number, TrackedGroup>();
  readonly #queue = new Set<number>();
  readonly #frontQueue = new Set<number>();
  /** When something was last heard of each open group, oldest first. */
  readonly #lastHeard = new Map<number, number>();
  readonly #ended = new Set<number>();

  /** @param silentMs an open lease without news for so long is overdue */
  constructor(epoch: string, silentMs: number) {
    this.#epoch = epoch;
    this.#silentMs = silentMs;
  }

  get waitingCount(): number {
    return this.#queue.size + this.#frontQueue.size;
  }

  get openCount(): number {
    return this.#lastHeard.size;
  }

  /** True if this is the newest offer of its group, and the group has no result yet. */
  isOpen(offer: Offer): boolean {
    return this.#findOpen(offer) !== undefined;
  }

  admit(prompt: Prompt): void {
    if (this.#groups.has(prompt.group)) throw new RangeError(`group ${prompt.group} is admitted twice`);
    this.#ended.delete(prompt.group);
    this.#groups.set(prompt.group, { prompt, state: { _tag: "Waiting" } });
    (prompt.urgent === true ? this.#frontQueue : this.#queue).add(prompt.group);
  }

  /** Takes the next group for the learner's own process. */
  takeLocal(): Prompt | undefined {
    const tracked = this.#takeNext();
    if (tracked === undefined) return undefined;
    tracked.state = { _tag: "Local" };
    return tracked.prompt;
  }

  /** Takes the next group and offers it under `ticket`. */
  offer(ticket: string, now: number): { readonly prompt: Prompt; readonly offer: Offer } | undefined {
    const tracked = this.#takeNext();
    if (tracked === undefined) return undefined;
    const { prompt } = tracked;
    tracked.state = { _tag: "Offered", ticket };
    this.#touch(prompt.group, now);
    return { prompt, offer: { epoch: this.#epoch, group: prompt.group, ticket } };
  }

  /** A worker reports that it holds the lease, which is no longer overdue. */
  renew({ delivery, epoch, group, ticket }: Lease, worker: string, now: number): void {
    const tracked = this.#findOpen({ epoch, group, ticket });
    if (tracked === undefined) return;
    if (tracked.state._tag === "Leased" && tracked.state.delivery > delivery) return;
    tracked.state = { _tag: "Leased", ticket, worker, delivery };
    this.#touch(group, now);
  }

  /** Says if a result under this lease would be accepted. Changes nothing. */
  check({ delivery, epoch, group, ticket }: Lease): LeaseCheck {
    const reject = (why: RejectReason): LeaseCheck => ({ _tag: "Dropped", why });
    if (epoch !== this.#epoch) return reject("other_run");
    const tracked = this.#groups.get(group);
    if (tracked === undefined) return reject(this.#ended.has(group) ? "duplicate" : "not_leased");
    const { prompt, state } = tracked;
    switch (state._tag) {
      case "Played":
        return reject("duplicate");
      case "Waiting":
      case "Local":
        return reject("late");
      case "Offered":
        return state.ticket === ticket ? { _tag: "Accepted", prompt } : reject("late");
      case "Leased":
        // A server may give one delivery to two workers, both with the ticket: the first result is accepted.
        return state.ticket === ticket && state.delivery <= delivery ? { _tag: "Accepted", prompt } : reject("late");
    }
  }

  /** Records a result that `check` has accepted. */
  accept({ group }: Pick<Lease, "group">, worker: string): void {
    const tracked = this.#groups.get(group);
    if (tracked === undefined) throw new RangeError(`group ${group} is not in the book`);
    this.#lastHeard.delete(group);
    tracked.state = { _tag: "Played", worker };
  }

  /**
   * Puts a group back in front of the queue: its offer is gone from the broker, could not be stored, or had a bad result. False if the
   * offer is not open.
   */
  reclaim(offer: Offer): boolean {
    const tracked = this.#findOpen(offer);
    if (tracked === undefined) return false;
    this.#lastHeard.delete(offer.group);
    tracked.state = { _tag: "Waiting" };
    this.#frontQueue.add(offer.group);
    return true;
  }

  /** The broker still has the offer, so a worker holds it or will receive it. */
  confirm(offer: Offer, now: number): void {
    const tracked = this.#findOpen(offer);
    if (tracked === undefined) return;
    tracked.state = { _tag: "Offered", ticket: offer.ticket };
    this.#touch(offer.group, now);
  }

  /** Forgets a group that is recorded or cancelled. Returns the offer to withdraw, if one is open. */
  close(group: number): Offer | undefined {
    const tracked = this.#groups.get(group);
    if (tracked === undefined) return undefined;
    const { state } = tracked;
    this.#groups.delete(group);
    this.#queue.delete(group);
    this.#frontQueue.delete(group);
    this.#lastHeard.delete(group);
    this.#remember(group);
    return "ticket" in state ? { epoch: this.#epoch, group, ticket: state.ticket } : undefined;
  }

  /** Open offers that no worker is known to hold. */
  unclaimedOffers(): readonly Offer[] {
    return [...this.#lastHeard.keys()].flatMap((group) => {
      const state = this.#groups.get(group)?.state;
      return state?._tag === "Offered" ? [{ epoch: this.#epoch, group, ticket: state.ticket }] : [];
    });
  }

  offersHeldBy(worker: string): readonly Offer[] {
    return [...this.#lastHeard.keys()].flatMap((group) => {
      const state = this.#groups.get(group)?.state;
      const isHeld = state?._tag === "Leased" && state.worker === worker;
      return isHeld ? [{ epoch: this.#epoch, group, ticket: state.ticket }] : [];
    });
  }

  /** Time at which the next lease is overdue; undefined when none is open. */
  get nextDeadline(): number | undefined {
    const [oldest] = this.#lastHeard.values();
    return oldest === undefined ? undefined : oldest + this.#silentMs;
  }

  /** Open offers without news for too long: the caller asks the broker if it still has them. */
  overdueOffers(now: number): readonly Offer[] {
    const offers: Offer[] = [];
    for (const [group, heardAt] of this.#lastHeard) {
      if (heardAt + this.#silentMs > now) break;
      const state = this.#groups.get(group)?.state;
      if (state !== undefined && "ticket" in state) offers.push({ epoch: this.#epoch, group, ticket: state.ticket });
    }
    return offers;
  }

  #takeNext(): TrackedGroup | undefined {
    const queue = this.#frontQueue.size > 0 ? this.#frontQueue : this.#queue;
    const [group] = queue;
    if (group === undefined) return undefined;
    queue.delete(group);
    return this.#groups.get(group);
  }

  /** The group whose newest offer this is, while the offer is open. */
  #findOpen({ epoch, group, ticket }: Offer): TrackedGroup | undefined {
    const tracked = epoch === this.#epoch ? this.#groups.get(group) : undefined;
    return tracked !== undefined && "ticket" in tracked.state && tracked.state.ticket === ticket ? tracked : undefined;
  }

  /** Moves the group to the end of the map, whose times never fall. */
  #touch(group: number, now: number): void {
    this.#lastHeard.delete(group);
    this.#lastHeard.set(group, now);
  }

  #remember(group: number): void {
    this.#ended.add(group);
    if (this.#ended.size <= MOST_ENDED) return;
    const [oldest] = this.#ended;
    if (oldest !== undefined) this.#ended.delete(oldest);
  }
}
