/**
 * The pipeline in virtual time: an event heap, and nothing of the engine. Its results are what an engine without any overhead would reach. It
 * has two systems: a line of flow stages, and a run (admission, episodes that call two services, windows, update). The rules are the engine's:
 * a finished item keeps its slot until there is room downstream, and waiting items are served in order.
 */
import { Heap } from "./Heap.ts";

/** Virtual time: events in order of their time, equal ones in the order they were set. */
class Agenda {
  now = 0;
  #count = 0;
  readonly #events = new Heap<{ readonly at: number; readonly order: number; readonly happen: () => void }>(
    (a, b) => a.at - b.at || a.order - b.order,
  );

  after(delay: number, happen: () => void): void {
    this.#events.push({ at: this.now + delay, order: this.#count++, happen });
  }

  run(): void {
    for (let next = this.#events.pop(); next !== undefined; next = this.#events.pop()) {
      this.now = next.at;
      next.happen();
    }
  }
}

/** Servers with one queue in order of arrival. */
class Station {
  readonly #waiting: (() => void)[] = [];
  #free: number;

  constructor(servers: number) {
    this.#free = servers;
  }

  /** Calls `begin` once a server is the caller's; it is given back by `leave`. */
  enter(begin: () => void): void {
    if (this.#free > 0) {
      this.#free--;
      begin();
    } else this.#waiting.push(begin);
  }

  leave(): void {
    const next = this.#waiting.shift();
    if (next === undefined) this.#free++;
    else next();
  }
}

interface Sink<A> {
  /** Calls `accepted` when the item has room. */
  readonly offer: (item: A, accepted: () => void) => void;
}

/** A flow stage: `room` items wait, `slots` are worked on or wait for room in `next`. */
class Stage<In, Out> implements Sink<In> {
  readonly #buffer: In[] = [];
  readonly #producers: { readonly item: In; readonly accepted: () => void }[] = [];
  readonly #room: number;
  #free: number;
  readonly #work: (item: In, done: (results: readonly Out[]) => void) => void;
  readonly #next: Sink<Out>;

  constructor(
    room: number,
    slots: number,
    work: (item: In, done: (results: readonly Out[]) => void) => void,
    next: Sink<Out>,
  ) {
    this.#room = room;
    this.#free = slots;
    this.#work = work;
    this.#next = next;
  }

  offer(item: In, accepted: () => void): void {
    if (this.#buffer.length >= this.#room) {
      this.#producers.push({ item, accepted });
      return;
    }
    this.#buffer.push(item);
    accepted();
    this.#begin();
  }

  #begin(): void {
    while (this.#free > 0 && this.#buffer.length > 0) {
      this.#free--;
      const item = this.#buffer.shift()!;
      const producer = this.#producers.shift();
      if (producer !== undefined) {
        this.#buffer.push(producer.item);
        producer.accepted();
      }
      this.#work(item, (results) => this.#deliver(results, 0));
    }
  }

  #deliver(results: readonly Out[], from: number): void {
    if (from < results.length) {
      this.#next.offer(results[from]!, () => this.#deliver(results, from + 1));
      return;
    }
    this.#free++;
    this.#begin();
  }
}

// ---- a line of stages ----

export interface LineStage {
  /** Items that may wait in front of it. */
  readonly inbox: number;
  readonly concurrency: number;
  /** Time of an item's service. */
  readonly service: (item: number) => number;
}

/** When each of `items` items leaves the last stage, in order of leaving; the first stage is offered items without end. */
export const line = (items: number, stages: readonly LineStage[]): readonly number[] => {
  const agenda = new Agenda();
  const left: number[] = [];
  const end: Sink<number> = {
    offer: (_, accepted) => {
      left.push(agenda.now);
      accepted();
    },
  };
  const first = stages.reduceRight<Sink<number>>(
    (next, { inbox, concurrency, service }) =>
      new Stage<number, number>(
        inbox,
        concurrency,
        (item, done) => agenda.after(service(item), () => done([item])),
        next,
      ),
    end,
  );
  const feed = (item: number): void => {
    if (item < items) first.offer(item, () => agenda.after(0, () => feed(item + 1)));
  };
  feed(0);
  agenda.run();
  return left;
};

// ---- a run ----

export interface RunShape {
  readonly mode: "lockstep" | "sync" | "async";
  /** Groups per window, episodes per group. */
  readonly groups: number;
  readonly groupSize: number;
  readonly windows: number;
  /** Windows a group may be admitted ahead of consumption, in async. */
  readonly maxStaleness: number;
  readonly order: "admission" | "completion";
  /** Groups in flight. */
  readonly rolloutConcurrency: number;
  /** Episodes in flight, each for its whole length; infinite where groups alone are bounded. */
  readonly episodes: number;
  /** Calls in service. */
  readonly generateSlots: number;
  readonly stepSlots: number;
  readonly turns: number;
  readonly generate: (group: number, member: number, turn: number) => number;
  readonly step: (group: number, member: number, turn: number) => number;
  /** Inbox of the window stage, in groups; the stages after it have room for one window each. */
  readonly inbox: number;
  readonly update: (window: number) => number;
}

export interface RunResult {
  /** When each window was consumed. */
  readonly consumedAt: readonly number[];
  /** Windows consumed between a group's admission and its own consumption, per group in order of consumption. */
  readonly staleness: readonly number[];
}

/** Lockstep's turns: calls wait until every live episode of the window has asked. */
class Turns {
  #live = 0;
  #waiting: (() => void)[] = [];

  join(episodes: number): void {
    this.#live += episodes;
  }

  leave(): void {
    this.#live--;
    this.#open();
  }

  arrive(go: () => void): void {
    this.#waiting.push(go);
    this.#open();
  }

  #open(): void {
    if (this.#waiting.length === 0 || this.#waiting.length < this.#live) return;
    const turn = this.#waiting;
    this.#waiting = [];
    for (const go of turn) go();
  }
}

export const run = (shape: RunShape): RunResult => {
  const { groups, groupSize, windows, mode } = shape;
  const agenda = new Agenda();
  const lead = mode === "async" ? shape.maxStaleness : 0;
  const generating = new Station(shape.generateSlots);
  const stepping = new Station(shape.stepSlots);
  const playing = new Station(shape.episodes);
  const barrier = mode === "lockstep" ? new Turns() : undefined;

  const consumedAt: number[] = [];
  const staleness: number[] = [];
  const consumedAtAdmission: number[] = [];
  let admitted = 0;

  const serve = (station: Station, time: number, then: () => void): void =>
    station.enter(() =>
      agenda.after(time, () => {
        station.leave();
        then();
      }),
    );

  const playEpisode = (group: number, member: number, ended: () => void): void => {
    const turn = (number: number): void => {
      if (number > shape.turns) {
        playing.leave();
        barrier?.leave();
        ended();
        return;
      }
      const go = (): void =>
        serve(generating, shape.generate(group, member, number), () =>
          serve(stepping, shape.step(group, member, number), () => turn(number + 1)),
        );
      if (barrier === undefined) go();
      else barrier.arrive(go);
    };
    playing.enter(() => turn(1));
  };

  const update = new Stage<readonly number[], never>(
    1,
    1,
    (window, done) =>
      agenda.after(shape.update(consumedAt.length), () => {
        for (const group of window) staleness.push(consumedAt.length - consumedAtAdmission[group]!);
        consumedAt.push(agenda.now);
        done([]);
        admit();
      }),
    { offer: (_, accepted) => accepted() },
  );
  // Score, filter and credit take no time here, but each has room for a window of its own.
  const pass = (next: Sink<readonly number[]>): Sink<readonly number[]> =>
    new Stage<readonly number[], readonly number[]>(1, 1, (window, done) => done([window]), next);

  const held: number[] = [];
  let formed = 0;
  const form = (group: number): readonly (readonly number[])[] => {
    held.push(group);
    const made: (readonly number[])[] = [];
    for (;;) {
      const members =
        shape.order === "completion"
          ? held.slice(0, groups)
          : held.filter((other) => Math.floor(other / groups) === formed);
      if (members.length < groups) return made;
      for (const member of members) held.splice(held.indexOf(member), 1);
      made.push(members);
      formed++;
    }
  };
  const window = new Stage<number, readonly number[]>(
    shape.inbox,
    1,
    (group, done) => done(form(group)),
    pass(pass(pass(update))),
  );
  const rollout = new Stage<number, number>(
    1,
    shape.rolloutConcurrency,
    (group, done) => {
      let left = groupSize;
      for (let member = 0; member < groupSize; member++) {
        playEpisode(group, member, () => {
          left--;
          if (left === 0) done([group]);
        });
      }
    },
    window,
  );

  let offering = false;
  const admit = (): void => {
    if (offering || admitted >= windows * groups) return;
    if (Math.floor(admitted / groups) - lead > consumedAt.length) return;
    const group = admitted++;
    consumedAtAdmission[group] = consumedAt.length;
    if (group % groups === 0) barrier?.join(groups * groupSize);
    offering = true;
    rollout.offer(group, () =>
      agenda.after(0, () => {
        offering = false;
        admit();
      }),
    );
  };
  admit();
  agenda.run();
  return { consumedAt, staleness };
};
