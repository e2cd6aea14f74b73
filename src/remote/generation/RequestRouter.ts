/**
 * Routes requests to servers: a state machine without fibers, time or HTTP. A sequence stays at the server that has its caches; a new one
 * goes to the server with the fewest sequences for its places. Invariants: only servers that are up get requests; no server has more
 * requests than places; among the requests that can go, the one that has waited longest goes first.
 */

/** `joining`: the server is being checked and given weights. `lost`: it does not come back by itself. */
export type Phase = "joining" | "up" | "lost";

interface RoutedServer {
  phase: Phase;
  /** Requests that it may have at once. */
  places: number;
  /** Requests that it has now. */
  open: number;
  /** Sequences whose caches it has. */
  homes: number;
  /** Sequences that wait for this server, by ticket. */
  readonly queue: Map<number, number>;
}

/** A ticket that gets a place. */
export interface Grant {
  readonly ticket: number;
  readonly server: number;
}

const first = (queue: ReadonlyMap<number, number>): readonly [ticket: number, sequence: number] | undefined =>
  queue.entries().next().value;

export class RequestRouter {
  readonly #servers: readonly RoutedServer[];
  readonly #homes = new Map<number, number>();
  /** Sequences that may go to any server, by ticket. */
  #queue = new Map<number, number>();

  constructor(servers: number) {
    this.#servers = Array.from({ length: servers }, () => ({
      phase: "joining",
      places: 1,
      open: 0,
      homes: 0,
      queue: new Map(),
    }));
  }

  /** Servers that are up. */
  get up(): readonly number[] {
    return [...this.#servers.keys()].filter((server) => this.#server(server).phase === "up");
  }

  get allLost(): boolean {
    return this.#servers.every(({ phase }) => phase === "lost");
  }

  get waiting(): number {
    return this.#servers.reduce((sum, { queue }) => sum + queue.size, this.#queue.size);
  }

  /** Places of all servers that are up. */
  get places(): number {
    return this.#sum(({ phase, places }) => (phase === "up" ? places : 0));
  }

  get open(): number {
    return this.#sum(({ open }) => open);
  }

  openAt(server: number): number {
    return this.#server(server).open;
  }

  placesOf(server: number): number {
    return this.#server(server).places;
  }

  phaseOf(server: number): Phase {
    return this.#server(server).phase;
  }

  /** Queues a request of `sequence`. Tickets grow. */
  wait(ticket: number, sequence: number): void {
    const home = this.#homes.get(sequence);
    (home === undefined ? this.#queue : this.#server(home).queue).set(ticket, sequence);
  }

  /** Removes a request from the queues. */
  withdraw(ticket: number): void {
    this.#queue.delete(ticket);
    for (const { queue } of this.#servers) queue.delete(ticket);
  }

  /** Grants places for as long as any request can go; each granted request counts as open. */
  takeGrants(): readonly Grant[] {
    const granted: Grant[] = [];
    for (let next = this.#next(); next !== undefined; next = this.#next()) {
      const { sequence, server, ticket } = next;
      this.withdraw(ticket);
      this.#setHome(sequence, server);
      this.#server(server).open++;
      granted.push({ ticket, server });
    }
    return granted;
  }

  /** Records that a request has ended, in any way. */
  ended(server: number): void {
    this.#server(server).open--;
  }

  /** Forgets a sequence that has ended. */
  release(sequence: number): void {
    const home = this.#homes.get(sequence);
    if (home === undefined) return;
    this.#homes.delete(sequence);
    this.#server(home).homes--;
  }

  resize(server: number, places: number): void {
    this.#server(server).places = Math.max(1, places);
  }

  /** Changes a server's phase. A server that is not up loses its caches, and its waiting requests may go elsewhere. */
  enter(server: number, phase: Phase): void {
    const routed = this.#server(server);
    routed.phase = phase;
    if (phase === "up") return;
    for (const [sequence, home] of this.#homes) if (home === server) this.#homes.delete(sequence);
    routed.homes = 0;
    this.#queue = new Map([...this.#queue, ...routed.queue].sort(([a], [b]) => a - b));
    routed.queue.clear();
  }

  #server(server: number): RoutedServer {
    const routed = this.#servers[server];
    if (routed === undefined) throw new RangeError(`there is no server ${server}`);
    return routed;
  }

  #sum(field: (routed: RoutedServer) => number): number {
    return this.#servers.reduce((sum, routed) => sum + field(routed), 0);
  }

  #setHome(sequence: number, server: number): void {
    if (this.#homes.get(sequence) === server) return;
    this.release(sequence);
    this.#homes.set(sequence, server);
    this.#server(server).homes++;
  }

  #hasRoom({ open, phase, places }: RoutedServer): boolean {
    return phase === "up" && open < places;
  }

  /** The server with room that has the fewest sequences for its places; the first of equals. */
  #least(): number | undefined {
    let least: number | undefined;
    let load = Number.POSITIVE_INFINITY;
    for (const [server, routed] of this.#servers.entries()) {
      const share = routed.homes / routed.places;
      if (this.#hasRoom(routed) && share < load) [least, load] = [server, share];
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
    for (const [server, routed] of this.#servers.entries()) {
      if (this.#hasRoom(routed)) offer(server, first(routed.queue));
    }
    return best;
  }
}
