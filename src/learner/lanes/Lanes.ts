/**
 * The lanes of a learner: its own thread and as many beside it as asked for, each with one session per model. The micro-batches of a
 * mini-batch are shared out among them and the parts added up. Two lanes of one intra-op thread do more than one lane of two: nothing
 * inside a pass waits for the other core.
 * Invariant: the sharing and the order of addition depend on the shapes alone, so equal requests give equal bits.
 */
import { Effect, Exit, Scope } from "effect";
import type { Parameters } from "../../policy/model/Parameters.ts";
import type { Feeds } from "../../policy/runtime/Session.ts";
import { make, type Thread, type ThreadFailure } from "../../policy/runtime/Thread.ts";
import { accumulate, Lane, type LaneModel, type LaneResult, type Micro, type Sums } from "./Lane.ts";
import type { LaneProtocol } from "./protocol.ts";

/** Weights as the lanes take them: views for the learner's own, the flat vector to copy for the others. */
export interface LaneWeights {
  readonly parameters: Parameters;
  readonly feeds: Feeds;
}

type Remote = Thread<LaneProtocol, Error>;

const laneError = ({ cause, message }: ThreadFailure): Error => new Error(message, { cause });

/** Indices of the items for each of `lanes`, the costliest first and each to the lane with the least so far. */
export const share = (costs: readonly number[], lanes: number): readonly (readonly number[])[] => {
  const parts = Array.from({ length: lanes }, () => ({ cost: 0, items: [] as number[] }));
  const costliest = costs.map((_, i) => i).sort((a, b) => costs[b] - costs[a] || a - b);
  for (const item of costliest) {
    const part = parts.reduce((least, other) => (other.cost < least.cost ? other : least));
    part.cost += costs[item];
    part.items.push(item);
  }
  return parts.map(({ items }) => items.sort((a, b) => a - b));
};

const merge = (parts: readonly LaneResult[], shares: readonly (readonly number[])[]): LaneResult => {
  let sums: Sums | null = null;
  const rows: Sums[] = [];
  parts.forEach((part, lane) => {
    if (part.sums !== null) sums = accumulate(sums, part.sums);
    shares[lane].forEach((item, i) => {
      rows[item] = part.rows[i];
    });
  });
  return { sums, rows };
};

/** One model on every lane. */
export interface Pass<Sum extends string, Row extends string> {
  /** Runs the micro-batches. Rejects when a session refuses or a lane's thread dies. */
  readonly run: (weights: LaneWeights, micros: readonly Micro[]) => Promise<LaneResult<Sum, Row>>;
}

/** What a micro-batch takes to run: the elements of its largest input, its padded ids. */
const costOf = (micro: Micro): number => Math.max(...Object.values(micro).map(({ data }) => data.length));

export class Lanes implements AsyncDisposable {
  readonly #own: Lane;
  readonly #remote: readonly Remote[];
  readonly #threads: number;
  readonly #scope: Scope.Closeable;

  private constructor(own: Lane, remote: readonly Remote[], threads: number, scope: Scope.Closeable) {
    this.#own = own;
    this.#remote = remote;
    this.#threads = threads;
    this.#scope = scope;
  }

  /** `count` lanes (at least 1) whose sessions have `threads` intra-op threads each. */
  static async open(count: number, threads: number): Promise<Lanes> {
    const scope = await Effect.runPromise(Scope.make());
    const remote = await Effect.runPromise(
      Effect.forEach(Array.from({ length: count - 1 }), (_, i) =>
        make<LaneProtocol, Error>({
          url: new URL("./worker.ts", import.meta.url),
          name: `learner-lane-${i + 2}`,
          fail: laneError,
        }),
      ).pipe(Scope.provide(scope)),
    );
    return new Lanes(new Lane(threads), remote, threads, scope);
  }

  /** Opens a model on every lane. */
  async pass<Sum extends string, Row extends string>(model: LaneModel<Sum, Row>): Promise<Pass<Sum, Row>> {
    const remote = this.#remote.map((lane) => Effect.runPromise(lane.call("open", { model, threads: this.#threads })));
    const numbers = await Promise.all([this.#own.open(model), ...remote]);
    const run = (weights: LaneWeights, micros: readonly Micro[]) => this.#run(numbers, weights, micros);
    // A lane answers with the outputs that its model names.
    return { run: run as Pass<Sum, Row>["run"] };
  }

  async #run(
    numbers: readonly number[],
    { feeds, parameters }: LaneWeights,
    micros: readonly Micro[],
  ): Promise<LaneResult> {
    const shares = share(micros.map(costOf), numbers.length);
    const of = (lane: number): readonly Micro[] => shares[lane].map((item) => micros[item]);
    // The others first: the learner's own sessions block this thread.
    const others = this.#remote.map((lane, i) => {
      if (shares[i + 1].length === 0) return Promise.resolve<LaneResult>({ sums: null, rows: [] });
      const flat = parameters.flat.slice();
      const request = { model: numbers[i + 1], specs: parameters.specs, flat, micros: of(i + 1) };
      return Effect.runPromise(lane.call("run", request, [flat.buffer]));
    });
    const own = this.#own.run(numbers[0], feeds, of(0));
    return merge(await Promise.all([own, ...others]), shares);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#own[Symbol.asyncDispose]();
    await Effect.runPromise(Scope.close(this.#scope, Exit.void));
  }
}
