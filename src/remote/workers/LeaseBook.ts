/**
 * What becomes of every group that workers may play, as a state machine without clock, fibers or a broker:
 *
 *   waiting → local | offered → leased → played → (booked: gone)       offered, leased → waiting, when its offer is lost or refused
 *
 * Invariants: a group is accepted at most once until it is booked; a result counts only under the newest ticket of its group and
 * the newest delivery known; an overdue lease is asked about, never taken for lost by the clock alone; groups wait in the order of
 * admission, those that come back and urgent ones in front.
 */
import type { Prompt } from "../../domain/Group.ts";
import type { Lease, Offer } from "./Lease.ts";

type State =
  | { readonly _tag: "Waiting" }
  /** Played in the learner's process. */
  | { readonly _tag: "Local" }
  /** Published; nobody is known to have it. */
  | { readonly _tag: "Offered"; readonly ticket: string }
  | { readonly _tag: "Leased"; readonly ticket: string; readonly worker: string; readonly delivery: number }
  /** Its result is accepted and not yet in the books. */
  | { readonly _tag: "Played"; readonly worker: string };

interface Entry {
  readonly prompt: Prompt;
  state: State;
}

/** Why a result is not taken. */
export type Dropped =
  /** The group has its result already. */
  | "duplicate"
  /** Its offer was withdrawn, or a later holder has the lease. */
  | "late"
  /** Of another start of the run. */
  | "other_run"
  /** No group of this run was ever offered like that. */
  | "not_leased";

export type Taken =
  | { readonly _tag: "Accepted"; readonly prompt: Prompt }
  | { readonly _tag: "Dropped"; readonly why: Dropped };

/** Groups whose end is remembered, so that a late second result is known for what it is. */
const remembered = 65_536;

export class LeaseBook {
  readonly #epoch: string;
  readonly #silentMs: number;
  readonly #entries = new Map<number, Entry>();
  readonly #waiting = new Set<number>();
  readonly #front = new Set<number>();
  /** Groups that are out, and when something was last heard of each; in the order of that time. */
  readonly #seen = new Map<number, number>();
  readonly #ended = new Set<number>();

  /** A lease of which nothing was heard for `silentMs` is overdue. */
  constructor(epoch: string, silentMs: number) {
    this.#epoch = epoch;
    this.#silentMs = silentMs;
  }

  get waiting(): number {
    return this.#waiting.size + this.#front.size;
  }

  /** Groups that are offered or leased. */
  get out(): number {
    return this.#seen.size;
  }

  /** Whether this is the newest offer of its group, and open. */
  isOut(offer: Offer): boolean {
    return this.#current(offer) !== undefined;
  }

  admit(prompt: Prompt): void {
    if (this.#entries.has(prompt.group)) throw new RangeError(`group ${prompt.group} is admitted twice`);
    this.#ended.delete(prompt.group);
    this.#entries.set(prompt.group, { prompt, state: { _tag: "Waiting" } });
    (prompt.urgent === true ? this.#front : this.#waiting).add(prompt.group);
  }

  /** The next group, to be played here. */
  takeHere(): Prompt | undefined {
    const entry = this.#next();
    if (entry === undefined) return undefined;
    entry.state = { _tag: "Local" };
    return entry.prompt;
  }

  /** The next group, to be offered under `ticket`. */
  offer(ticket: string, now: number): { readonly prompt: Prompt; readonly offer: Offer } | undefined {
    const entry = this.#next();
    if (entry === undefined) return undefined;
    const { prompt } = entry;
    entry.state = { _tag: "Offered", ticket };
    this.#hear(prompt.group, now);
    return { prompt, offer: { epoch: this.#epoch, group: prompt.group, ticket } };
  }

  /** A worker says that it holds a lease. */
  heard({ delivery, epoch, group, ticket }: Lease, worker: string, now: number): void {
    const entry = this.#current({ epoch, group, ticket });
    if (entry === undefined) return;
    if (entry.state._tag === "Leased" && entry.state.delivery > delivery) return;
    entry.state = { _tag: "Leased", ticket, worker, delivery };
    this.#hear(group, now);
  }

  /** Whether a result under a lease would be taken. Changes nothing. */
  judge({ delivery, epoch, group, ticket }: Lease): Taken {
    const dropped = (why: Dropped): Taken => ({ _tag: "Dropped", why });
    if (epoch !== this.#epoch) return dropped("other_run");
    const entry = this.#entries.get(group);
    if (entry === undefined) return dropped(this.#ended.has(group) ? "duplicate" : "not_leased");
    const { prompt, state } = entry;
    switch (state._tag) {
      case "Played":
        return dropped("duplicate");
      case "Waiting":
      case "Local":
        return dropped("late");
      case "Offered":
        return state.ticket === ticket ? { _tag: "Accepted", prompt } : dropped("late");
      case "Leased":
        // A server may give one delivery to two workers, both with the ticket: whoever answers first is taken.
        return state.ticket === ticket && state.delivery <= delivery ? { _tag: "Accepted", prompt } : dropped("late");
    }
  }

  /** Takes a result that `judge` has accepted. */
  accept({ group }: Pick<Lease, "group">, worker: string): void {
    const entry = this.#entries.get(group);
    if (entry === undefined) throw new RangeError(`group ${group} is not in the book`);
    this.#seen.delete(group);
    entry.state = { _tag: "Played", worker };
  }

  /** The offer has come to nothing (it is gone from the broker, could not be published, or its result is refused): the group waits again. */
  lost(offer: Offer): boolean {
    const entry = this.#current(offer);
    if (entry === undefined) return false;
    this.#seen.delete(offer.group);
    entry.state = { _tag: "Waiting" };
    this.#front.add(offer.group);
    return true;
  }

  /** The broker still has the offer: somebody will be given it, or has it. */
  kept(offer: Offer, now: number): void {
    const entry = this.#current(offer);
    if (entry === undefined) return;
    entry.state = { _tag: "Offered", ticket: offer.ticket };
    this.#hear(offer.group, now);
  }

  /** The group is in the books, or its prompt was taken back; the offer that is to be withdrawn, if it is out. */
  end(group: number): Offer | undefined {
    const entry = this.#entries.get(group);
    if (entry === undefined) return undefined;
    const { state } = entry;
    this.#entries.delete(group);
    this.#waiting.delete(group);
    this.#front.delete(group);
    this.#seen.delete(group);
    this.#remember(group);
    return "ticket" in state ? { epoch: this.#epoch, group, ticket: state.ticket } : undefined;
  }

  /** Offers that nobody is known to hold. */
  unheld(): readonly Offer[] {
    return [...this.#seen.keys()].flatMap((group) => {
      const state = this.#entries.get(group)?.state;
      return state?._tag === "Offered" ? [{ epoch: this.#epoch, group, ticket: state.ticket }] : [];
    });
  }

  /** Offers that a worker is known to hold. */
  heldBy(worker: string): readonly Offer[] {
    return [...this.#seen.keys()].flatMap((group) => {
      const state = this.#entries.get(group)?.state;
      const held = state?._tag === "Leased" && state.worker === worker;
      return held ? [{ epoch: this.#epoch, group, ticket: state.ticket }] : [];
    });
  }

  /** When the next lease is overdue; undefined where none is out. */
  get deadline(): number | undefined {
    const [oldest] = this.#seen.values();
    return oldest === undefined ? undefined : oldest + this.#silentMs;
  }

  /** The offers of which nothing was heard for too long: the broker is to be asked whether it has them. */
  overdue(now: number): readonly Offer[] {
    const offers: Offer[] = [];
    for (const [group, seen] of this.#seen) {
      if (seen + this.#silentMs > now) break;
      const state = this.#entries.get(group)?.state;
      if (state !== undefined && "ticket" in state) offers.push({ epoch: this.#epoch, group, ticket: state.ticket });
    }
    return offers;
  }

  #next(): Entry | undefined {
    const line = this.#front.size > 0 ? this.#front : this.#waiting;
    const [group] = line;
    if (group === undefined) return undefined;
    line.delete(group);
    return this.#entries.get(group);
  }

  /** The entry whose newest offer this is, while it is out. */
  #current({ epoch, group, ticket }: Offer): Entry | undefined {
    const entry = epoch === this.#epoch ? this.#entries.get(group) : undefined;
    return entry !== undefined && "ticket" in entry.state && entry.state.ticket === ticket ? entry : undefined;
  }

  /** Moves to the end: times of the map never fall. */
  #hear(group: number, now: number): void {
    this.#seen.delete(group);
    this.#seen.set(group, now);
  }

  #remember(group: number): void {
    this.#ended.add(group);
    if (this.#ended.size <= remembered) return;
    const [oldest] = this.#ended;
    if (oldest !== undefined) this.#ended.delete(oldest);
  }
}
