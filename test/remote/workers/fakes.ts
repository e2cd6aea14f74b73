/** Brokers in memory for tests: they deliver, lose and repeat leases as a test asks. */
import { Effect, Latch } from "effect";
import type { Group } from "../../../src/domain/Group.ts";
import type { DeliveredLease, LearnerBroker, WorkerBroker } from "../../../src/remote/workers/Broker.ts";
import * as GroupCodec from "../../../src/remote/workers/GroupCodec.ts";
import type { Lease } from "../../../src/remote/workers/Lease.ts";
import * as Messages from "../../../src/remote/workers/Messages.ts";
import * as ResultParts from "../../../src/remote/workers/ResultParts.ts";

export class FakeLearnerBroker {
  /** Stored leases, by message number. */
  readonly stored = new Map<number, Messages.LeaseMessage>();
  readonly withdrawn: number[] = [];
  /** Parts that the learner has acknowledged, in order. */
  readonly acknowledged: string[] = [];
  #messageNumber = 0;
  #result: (worker: string, bytes: Uint8Array, name: string) => void = () => undefined;
  #gauges: (worker: string, bytes: Uint8Array) => void = () => undefined;

  readonly broker: LearnerBroker = {
    describe: () => Effect.void,
    announce: () => Effect.void,
    clear: Effect.void,
    offer: (work) =>
      Effect.sync(() => {
        this.stored.set(++this.#messageNumber, Messages.leaseMessage.decode(work));
        return this.#messageNumber;
      }),
    has: (messageNumber) => Effect.sync(() => this.stored.has(messageNumber)),
    withdraw: (messageNumber) =>
      Effect.sync(() => {
        this.stored.delete(messageNumber);
        this.withdrawn.push(messageNumber);
      }),
    listen: (to) =>
      Effect.sync(() => {
        this.#gauges = to.gauges;
        this.#result = (worker, bytes, name) =>
          to.result({ worker, bytes, acknowledge: Effect.sync(() => void this.acknowledged.push(name)) });
      }),
  };

  /** The newest stored lease of a group. */
  leaseOf(group: number, delivery = 1): Lease {
    const work = [...this.stored.values()].filter(({ prompt }) => prompt.group === group).at(-1);
    if (work === undefined) throw new Error(`no lease of group ${group} is stored`);
    return { epoch: work.epoch, group, ticket: work.ticket, delivery };
  }

  say(worker: string, changes: Partial<Messages.WorkerGauges> = {}): void {
    const usual = {
      epoch: "now",
      slots: 4,
      groups: 2,
      version: 3,
      tokensPerSecond: 1,
      playing: 0,
      leases: [],
      leaves: false,
    };
    this.sayBytes(worker, Messages.workerGauges.encode({ ...usual, ...changes }));
  }

  sayBytes(worker: string, bytes: Uint8Array): void {
    this.#gauges(worker, bytes);
  }

  /** Sends any bytes as a worker's result. */
  sendBytes(worker: string, bytes: Uint8Array, name: string): void {
    this.#result(worker, bytes, name);
  }

  /** Sends a worker's result; `name` tells its acknowledgements apart. */
  send(worker: string, lease: Lease, group: Group, name: string): Effect.Effect<void> {
    return Effect.map(GroupCodec.encode(group), (bytes) => {
      for (const part of ResultParts.split(lease, bytes, 300)) this.#result(worker, part, name);
    });
  }
}

export class FakeWorkerBroker {
  readonly stored: { readonly id: string; readonly part: ResultParts.Part }[] = [];
  /** The ends of leases in order: `alive`, `end` or `back`, and the group. */
  readonly answers: string[] = [];
  readonly gauges: Messages.WorkerGauges[] = [];
  readonly #waiting: DeliveredLease[] = [];
  readonly #given = Latch.makeUnsafe(false);
  #about: (bytes: Uint8Array) => void = () => undefined;
  #weights: (bytes: Uint8Array) => void = () => undefined;

  readonly broker: WorkerBroker = {
    mostBytes: 300,
    follow: ({ about, weights }) =>
      Effect.sync(() => {
        this.#about = about;
        this.#weights = weights;
      }),
    nextLease: Effect.suspend(() => {
      const lease = this.#waiting.shift();
      if (lease !== undefined) return Effect.succeed(lease);
      this.#given.closeUnsafe();
      return Effect.andThen(this.#given.await, this.broker.nextLease);
    }),
    store: (bytes, id) => Effect.sync(() => void this.stored.push({ id, part: ResultParts.read(bytes) })),
    sendGauges: (bytes) => Effect.sync(() => void this.gauges.push(Messages.workerGauges.decode(bytes))),
  };

  give(work: Messages.LeaseMessage, delivery = 1): void {
    const tell = (what: string) => Effect.sync(() => void this.answers.push(`${what} ${work.prompt.group}`));
    const bytes = Messages.leaseMessage.encode(work);
    this.#waiting.push({ bytes, delivery, keepAlive: tell("alive"), end: tell("end"), giveBack: tell("back") });
    this.#given.openUnsafe();
  }

  describe(changes: Partial<Messages.RunDescription> = {}): void {
    const usual: Messages.RunDescription = {
      protocol: Messages.PROTOCOL,
      program: "1",
      run: "run",
      epoch: "e1",
      ended: false,
      config: {},
      files: "http://127.0.0.1:1/e1",
      kind: "full",
      leaseMs: 900,
    };
    this.#about(Messages.runDescription.encode({ ...usual, ...changes }));
  }

  announce(version: number, epoch = "e1"): void {
    this.#weights(Messages.weightsAnnouncement.encode({ epoch, version }));
  }
}
