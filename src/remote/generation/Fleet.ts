/**
 * Which server takes which request: a state machine over servers, their places and who waits for one, without fibers, time or HTTP. A sequence
 * stays with the server that has its caches, a new one goes to the server with the fewest for its places. Invariants: a server that is not up is
 * given nothing; no server has more requests than places; whoever could go first has waited longest.
 */

/** `joining`: it is being checked and given weights. `lost`: it does not come back by itself. */
export type Phase = "joining" | "up" | "lost";

interface Member {
  phase: Phase;
  /** Requests at once. */
  places: number;
  /** Requests now. */
  open: number;
  /** Sequences whose caches it has. */
  homes: number;
  /** Who waits for this server, by ticket. */
  readonly queue: Map<number, number>;
}

/** A ticket's turn. */
export interface Grant {
  readonly ticket: number;
  readonly server: number;
}

const first = (queue: ReadonlyMap<number, number>): readonly [ticket: number, sequence: number] | undefined =>
  queue.entries().next().value;

export class Fleet {
  readonly #members: readonly Member[];
  readonly #homes = new Map<number, number>();
  /** Who may go to any server, by ticket. */
  #queue = new Map<number, number>();

  constructor(servers: number) {
    this.#members = Array.from({ length: servers }, () => ({
      phase: "joining",
      places: 1,
      open: 0,
      homes: 0,
      queue: new Map(),
    }));
  }

  /** Servers that take requests. */
  get up(): readonly number[] {
    return [...this.#members.keys()].filter((server) => this.#member(server).phase === "up");
  }

  get allLost(): boolean {
    return this.#members.every(({ phase }) => phase === "lost");
  }

  /** Requests that wait for a place. */
  get waiting(): number {
    return this.#members.reduce((sum, { queue }) => sum + queue.size, this.#queue.size);
  }

  /** Places of the servers that are up, and requests of all. */
  get places(): number {
    return this.#sum(({ phase, places }) => (phase === "up" ? places : 0));
  }

  get open(): number {
    return this.#sum(({ open }) => open);
  }

  openAt(server: number): number {
    return this.#member(server).open;
  }

  placesOf(server: number): number {
    return this.#member(server).places;
  }

  phaseOf(server: number): Phase {
    return this.#member(server).phase;
  }

  /** A request of `sequence` waits from now on. Tickets grow. */
  wait(ticket: number, sequence: number): void {
    const home = this.#homes.get(sequence);
    (home === undefined ? this.#queue : this.#member(home).queue).set(ticket, sequence);
  }

  /** Whoever has the ticket waits no more. */
  withdraw(ticket: number): void {
    this.#queue.delete(ticket);
    for (const { queue } of this.#members) queue.delete(ticket);
  }

  /** Those whose turn it is; each of them is at its server from now on. */
  grants(): readonly Grant[] {
    const granted: Grant[] = [];
    for (let next = this.#next(); next !== undefined; next = this.#next()) {
      const { sequence, server, ticket } = next;
      this.withdraw(ticket);
      this.#settle(sequence, server);
      this.#member(server).open++;
      granted.push({ ticket, server });
    }
    return granted;
  }

  /** A request at the server has ended, in any way. */
  ended(server: number): void {
    this.#member(server).open--;
  }

  /** The sequence is no more. */
  release(sequence: number): void {
    const home = this.#homes.get(sequence);
    if (home === undefined) return;
    this.#homes.delete(sequence);
    this.#member(home).homes--;
  }

  resize(server: number, places: number): void {
    this.#member(server).places = Math.max(1, places);
  }

  /** The server is in another phase. One that is not up loses its caches, and who waits for it may go elsewhere. */
  enter(server: number, phase: Phase): void {
    const member = this.#member(server);
    member.phase = phase;
    if (phase === "up") return;
    for (const [sequence, home] of this.#homes) if (home === server) this.#homes.delete(sequence);
    member.homes = 0;
    this.#queue = new Map([...this.#queue, ...member.queue].sort(([a], [b]) => a - b));
    member.queue.clear();
  }

  #member(server: number): Member {
    const member = this.#members[server];
    if (member === undefined) throw new RangeError(`there is no server ${server}`);
    return member;
  }

  #sum(of: (member: Member) => number): number {
    return this.#members.reduce((sum, member) => sum + of(member), 0);
  }

  #settle(sequence: number, server: number): void {
    if (this.#homes.get(sequence) === server) return;
    this.release(sequence);
    this.#homes.set(sequence, server);
    this.#member(server).homes++;
  }

  #hasRoom({ open, phase, places }: Member): boolean {
    return phase === "up" && open < places;
  }

  /** The server with room that has the fewest sequences for its places; the first of equals. */
  #least(): number | undefined {
    let least: number | undefined;
    let load = Number.POSITIVE_INFINITY;
    for (const [server, member] of this.#members.entries()) {
      const share = member.homes / member.places;
      if (this.#hasRoom(member) && share < load) [least, load] = [server, share];
    }
    return least;
  }

  /** The oldest ticket that some server has room for. */
  #next(): (Grant & { readonly sequence: number }) | undefined {
    const anywhere = this.#least();
    if (anywhere === undefined) return undefined;
    let best: (Grant & { readonly sequence: number }) | undefined;
    const offer = (server: number, waiting: readonly [number, number] | undefined): void => {
      if (waiting === undefined) return;
      const [ticket, sequence] = waiting;
      if (best === undefined || ticket < best.ticket) best = { ticket, server, sequence };
    };
    offer(anywhere, first(this.#queue));
    for (const [server, member] of this.#members.entries()) {
      if (this.#hasRoom(member)) offer(server, first(member.queue));
    }
    return best;
  }
}
