/**
 * The lanes of a learner: its own thread and others, each with one session per model. They share a mini-batch's micro-batches. Two lanes of
 * one intra-op thread do more than one lane of two, because nothing inside a pass waits for the other core. Invariant: results are added in
 * micro-batch order, so the number of lanes changes no bit.
 */
import * as Effect from "effect/Effect";
import * as Exit from "effect/Exit";
import * as Scope from "effect/Scope";
import { cpu, type Device } from "../../domain/Device.ts";
import type { Parameters } from "../../model/graphs/Parameters.ts";
import type { Base } from "../../model/runtime/baseFeeds.ts";
import { type DeviceTensor, type Feeds, threadRuntime } from "../../model/runtime/Session.ts";
import { CallError } from "../../model/runtime/serve.ts";
import { make, type Thread, type ThreadFailure } from "../../model/runtime/Thread.ts";
import { type Arrays, Lane, type LaneModel, type MicroInputs, type MicroResult } from "./Lane.ts";
import type { LaneProtocol } from "./LaneProtocol.ts";
import { runInOrder } from "./runInOrder.ts";

/** Weights of a pass: views for the learner's own lane, a flat vector to copy for the others. */
export interface LaneWeights {
  /** Trained parameters; each pass copies them to the other lanes. */
  readonly parameters: Parameters;
  /** Frozen weights under an adapter, in shared memory that no lane copies. */
  readonly base?: Base | undefined;
  /** Both kinds of weights, by name. */
  readonly feeds: Feeds;
  /** Sums gradients on a device that keeps tensors. Each pass clears it first. */
  readonly gradientSum?:
    | { readonly clear: () => void; readonly add: (gradients: readonly DeviceTensor[]) => Promise<void> }
    | undefined;
}

/** Sums over the micro-batches of a mini-batch. */
export interface Totals<Sum extends string = string> {
  /** One gradient for each trained parameter of the model. */
  readonly gradients: readonly Float32Array[];
  readonly sums: Arrays<Sum>;
}

/** Results of a mini-batch. */
export interface PassResult<Sum extends string = string, Row extends string = string> {
  /** Null if no micro-batch was given. */
  readonly totals: Totals<Sum> | null;
  /** One for each micro-batch, in order. */
  readonly rows: readonly Arrays<Row>[];
}

type LaneThread = Thread<LaneProtocol, Error>;

/** A death keeps its reason, so that the learner's thread passes it on and the run can be restarted. */
const laneError = ({ cause, message, reason }: ThreadFailure): Error =>
  reason === "thread_died" ? new CallError(reason, message, { cause }) : new Error(message, { cause });

/**
 * Frees the memory of arrays that are not used again and own their buffers. Without it several gradients of a large model would wait for
 * the next garbage collection.
 */
export const freeArrays = (arrays: readonly Float32Array[]): void => {
  for (const { buffer } of arrays) if (buffer instanceof ArrayBuffer && !buffer.detached) buffer.transfer(0);
};

const addTo = (into: Float32Array, from: Float32Array | undefined): void => {
  if (from?.length !== into.length) throw new Error("the results of micro-batches differ in size");
  for (let i = 0; i < into.length; i++) into[i]! += from[i]!;
};

/** Adds `part` to `total` in place and frees it. The first part becomes the total. */
const accumulate = (total: Totals | null, part: Totals): Totals => {
  if (total === null) return part;
  for (const [i, into] of total.gradients.entries()) addTo(into, part.gradients[i]);
  for (const [name, into] of Object.entries(total.sums)) addTo(into, part.sums[name]);
  freeArrays(part.gradients);
  return total;
};

/** One model, opened on every lane. */
export interface Pass<Sum extends string, Row extends string> {
  /** Runs the micro-batches. Rejects if a session refuses or a lane's thread dies. */
  readonly run: (weights: LaneWeights, micros: readonly MicroInputs[]) => Promise<PassResult<Sum, Row>>;
}

/**
 * Micro-batches in a lane's thread at once: one running and one waiting. The learner's own passes block its thread, which could not send
 * the next one in time.
 */
const MICROS_PER_THREAD = 2;

/** Results per lane that are computed but not added yet. The bound limits memory if one lane runs ahead. */
const RESULTS_PER_LANE = 2;

export class Lanes implements AsyncDisposable {
  readonly #ownLane: Lane;
  readonly #threadLanes: readonly LaneThread[];
  readonly #intraOpThreads: number;
  readonly #scope: Scope.Closeable;
  #used: number;

  private constructor(ownLane: Lane, threadLanes: readonly LaneThread[], threads: number, scope: Scope.Closeable) {
    this.#ownLane = ownLane;
    this.#threadLanes = threadLanes;
    this.#intraOpThreads = threads;
    this.#scope = scope;
    this.#used = 1 + threadLanes.length;
  }

  /** Opens `count` lanes (at least 1) whose sessions have `threads` intra-op threads each. The other threads' lanes compute on the CPU. */
  static async open(count: number, threads: number, device: Device = cpu): Promise<Lanes> {
    const scope = await Effect.runPromise(Scope.make());
    const threadLanes = await Effect.runPromise(
      Effect.forEach(Array.from({ length: count - 1 }), (_, i) =>
        make<LaneProtocol, Error>({
          url: new URL("./worker.ts", import.meta.url),
          name: `learner-lane-${i + 2}`,
          fail: laneError,
        }),
      ).pipe(Scope.provide(scope)),
    );
    return new Lanes(new Lane(threads, device), threadLanes, threads, scope);
  }

  /** Lets later passes use `count` of the lanes. Throws if there are fewer. */
  setUsed(count: number): void {
    const opened = 1 + this.#threadLanes.length;
    if (!Number.isInteger(count) || count < 1 || count > opened) {
      throw new RangeError(
        `${count} lanes cannot be used; nearest: ${Math.min(opened, Math.max(1, Math.floor(count)))}`,
      );
    }
    this.#used = count;
  }

  async pass<Sum extends string, Row extends string>(model: LaneModel<Sum, Row>): Promise<Pass<Sum, Row>> {
    const threads = this.#intraOpThreads;
    const opening = this.#threadLanes.map(async (lane) => {
      const number = await Effect.runPromise(lane.call("open", { model, threads, runtime: threadRuntime() }));
      return { lane, model: number };
    });
    const [ownModel, ...threadModels] = await Promise.all([this.#ownLane.open(model), ...opening]);
    const run = (weights: LaneWeights, micros: readonly MicroInputs[]) =>
      this.#run(ownModel, threadModels, weights, micros);
    // The type is right because a lane returns the outputs that its model names.
    return { run: run as Pass<Sum, Row>["run"] };
  }

  async #run(
    ownModel: number,
    threadModels: readonly { readonly lane: LaneThread; readonly model: number }[],
    { base, feeds, parameters, gradientSum }: LaneWeights,
    micros: readonly MicroInputs[],
  ): Promise<PassResult> {
    // The learner's own lane takes the first micro-batch; more lanes than micro-batches would idle.
    const others = threadModels.slice(0, Math.max(0, Math.min(this.#used, micros.length) - 1));
    const starting = others.map(({ lane, model }) => {
      const flat = parameters.flat.slice();
      return Effect.runPromise(
        lane.call("begin", { model, weights: { specs: parameters.specs, flat }, base }, [flat.buffer]),
      );
    });
    gradientSum?.clear();
    const ownWorker = async (item: number): Promise<MicroResult> => {
      const result = await this.#ownLane.run(ownModel, feeds, micros[item]!);
      if (result.deviceGradients.length > 0) await gradientSum?.add(result.deviceGradients);
      return result;
    };
    const otherWorkers = others.map(
      ({ lane }) =>
        (item: number) =>
          Effect.runPromise(lane.call("run", micros[item]!)),
    );
    let totals: Totals | null = null;
    const rows: Arrays[] = [];
    const adding = runInOrder<MicroResult>({
      count: micros.length,
      // The order gives every lane one micro-batch before any lane gets a second.
      workers: [ownWorker, ...Array.from({ length: MICROS_PER_THREAD }, () => otherWorkers).flat()],
      ahead: RESULTS_PER_LANE * (1 + others.length),
      use: ({ gradients, rows: microRows, sums }) => {
        totals = accumulate(totals, { gradients, sums });
        rows.push(microRows);
      },
    });
    try {
      await Promise.all([adding, ...starting]);
    } finally {
      await Promise.allSettled(others.map(({ lane }) => Effect.runPromise(lane.call("end", null))));
    }
    return { totals, rows };
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#ownLane[Symbol.asyncDispose]();
    await Effect.runPromise(Scope.close(this.#scope, Exit.void));
  }
}
