/**
 * The loop of one generator thread: it asks the scheduler for a step and runs it while there is work. Requests, cancellations and new
 * weights arrive between steps; callbacks answer requests. Invariants: a reply depends on weights, history and the request's random stream, not
 * on the batches it is in; with `refeeding: "exact"` it does not depend on evictions either. After a failed step every request fails.
 */
import type { Version } from "../domain/Episode.ts";
import { Gauge, type GaugeClock } from "../flow/Gauge.ts";
import type { StopMatchers } from "../model/tokenizer/StopMatcher.ts";
import type { Payload } from "../model/weights/Weights.ts";
import { AdoptionTimes } from "./AdoptionTimes.ts";
import { traceOfReplies } from "./FeedTrace.ts";
import type { GeneratorModel } from "./LanguageModel.ts";
import type { GenerateRequest, ThreadGauges } from "./Policy.ts";
import { type GenerationFailure, History, Reply, type ReplyCallbacks } from "./Reply.ts";
import { NotFiniteLogits } from "./Sampler.ts";
import { Scheduler, type SchedulerOptions } from "./Scheduler.ts";
import { type OpenSequence, StepRunner, type StepRunnerOptions } from "./StepRunner.ts";
import { type VersionRetention, WeightSets } from "./WeightSets.ts";

export interface GeneratorLoopOptions extends SchedulerOptions, StepRunnerOptions {
  readonly kvOnUpdate: "keep" | "recompute";
  readonly stops: StopMatchers;
  readonly retention: VersionRetention;
  /** Is called between steps; the next step uses `version`. */
  readonly onAdopted: (version: Version) => void;
}

/** A version of the weights as it reaches a thread. */
export interface VersionPayload {
  readonly version: Version;
  readonly payload: Payload;
}

/** Real time, because a thread's loop has no fiber to take a clock from. */
const threadClock: GaugeClock = { monotonicTimeNanosUnsafe: () => process.hrtime.bigint() };

export class GeneratorLoop<W> {
  readonly #model: GeneratorModel<W>;
  readonly #options: GeneratorLoopOptions;
  readonly #scheduler: Scheduler;
  readonly #weights: WeightSets<W>;
  readonly #openSequences = new Map<number, OpenSequence>();
  readonly #steps: StepRunner<W>;
  readonly #adoptions = new AdoptionTimes();
  /** The thread counts as one slot; the queue is requests without a cache row. */
  readonly #gauge: Gauge;
  #running: Promise<void> | undefined;
  #failure: GenerationFailure | undefined;
  #closing = false;

  constructor(
    model: GeneratorModel<W>,
    initial: VersionPayload,
    options: GeneratorLoopOptions,
    /** Versions before the initial one, ascending, which a resumed run still needs. */
    earlier: readonly VersionPayload[] = [],
  ) {
    this.#model = model;
    this.#options = options;
    this.#scheduler = new Scheduler(options, initial.version);
    const sets = [...earlier, initial].map(({ payload, version }) => ({
      version,
      weights: model.weights(version, payload),
    }));
    this.#weights = new WeightSets(sets, options.retention, model.forget);
    this.#steps = new StepRunner(model, this.#scheduler, this.#openSequences, options);
    this.#gauge = new Gauge({ name: "generator", kind: "service", concurrency: 1, capacity: 0 }, threadClock);
  }

  /** Opens a request. One of the callbacks is called once, unless the request is cancelled. */
  generate(request: GenerateRequest, callbacks: ReplyCallbacks): void {
    const refusal = this.#failure ?? this.#refusal(request);
    if (refusal !== undefined) {
      callbacks.fail(refusal);
      return;
    }
    const open = this.#openSequences.get(request.sequence) ?? this.#open(request);
    const base = open.sequence.length;
    open.history.write(request.append, base);
    open.reply = new Reply(request, callbacks, base, this.#options.stops(request.stop ?? []));
    this.#scheduler.request(open.sequence, request.append.length);
    if (open.sequence.phase === "waiting") this.#gauge.enqueued();
    this.#wake();
  }

  /** Ends a sequence's open request without an answer, and undoes its effects on the sequence. */
  cancel(id: number): void {
    const open = this.#openSequences.get(id);
    if (open === undefined) return;
    const reply = this.#withdraw(open);
    if (reply === undefined) return;
    this.#scheduler.finish(open.sequence, reply.base);
    if (reply.base === 0) this.release(id);
  }

  /** Forgets a sequence and frees its row. An open request fails. Calling it twice is safe. */
  release(id: number): void {
    const open = this.#openSequences.get(id);
    if (open === undefined) return;
    this.#openSequences.delete(id);
    const reply = this.#withdraw(open);
    this.#scheduler.release(id);
    if (open.sequence.pin !== null) this.unhold(open.sequence.pin);
    const message = `sequence ${id} was released while it was being generated`;
    reply?.callbacks.fail({ code: "bad_request", message });
  }

  /** Takes new weights, which the next step adopts. Throws a RangeError if their kind or size is wrong. */
  offer(version: Version, payload: Payload): void {
    const start = performance.now();
    this.#weights.offer(version, this.#model.weights(version, payload));
    this.#adoptions.recordOffer(performance.now() - start);
    if (this.#running === undefined) this.#adopt();
  }

  /** Keeps a version for requests that pin it. Holds are counted. Returns false if it is gone, or if the model cannot keep versions. */
  hold(version: Version): boolean {
    return this.#model.versions.canPin && this.#weights.hold(version);
  }

  /** Ends one hold. A version without holds is dropped when a newer one needs its place. */
  unhold(version: Version): void {
    this.#weights.unhold(version);
    if (this.#running === undefined) this.#adopt();
  }

  gauges(): ThreadGauges {
    return {
      version: this.#weights.newest,
      slots: this.#options.slots,
      active: this.#scheduler.active,
      idle: this.#scheduler.idle,
      sampledTokens: this.#steps.sampledTokens,
      prefilledTokens: this.#steps.prefilledTokens,
      refedTokens: this.#scheduler.refedTokens,
      decodeSteps: this.#steps.decodeSteps,
      splitSteps: this.#steps.splitSteps,
      adoptions: this.#adoptions.count,
      adoptionMs: this.#adoptions.ms,
      threads: this.#gauge.sample(),
    };
  }

  /** Resolves when no step is running or planned. */
  async whenIdle(): Promise<void> {
    while (this.#running !== undefined) await this.#running;
  }

  /** Stops after the running step and closes the model. Open requests are not answered. */
  async close(): Promise<void> {
    this.#closing = true;
    await this.whenIdle();
    await this.#model.close();
  }

  #refusal({ append, maxTokens, pin, sampling, sequence: id }: GenerateRequest): GenerationFailure | undefined {
    const badRequest = (message: string): GenerationFailure => ({ code: "bad_request", message });
    const open = this.#openSequences.get(id);
    const { maxPositions, vocabSize } = this.#model.shape;
    if (open?.reply !== undefined) return badRequest(`sequence ${id} is being generated already`);
    if (maxTokens < 1) return badRequest(`maxTokens must be 1 or more, not ${maxTokens}`);
    if (open === undefined && append.length === 0) return badRequest(`sequence ${id} opens without a token`);
    if (!(sampling.temperature >= 0)) return badRequest(`temperature must be 0 or more, not ${sampling.temperature}`);
    const length = (open?.sequence.length ?? 0) + append.length;
    if (length > maxPositions)
      return badRequest(`a history of ${length} tokens exceeds the model's ${maxPositions} positions`);
    const unknownId = append.find((token) => token < 0 || token >= vocabSize);
    if (unknownId !== undefined) return badRequest(`id ${unknownId} is outside the vocabulary of ${vocabSize}`);
    if (open !== undefined && open.sequence.pin !== pin)
      return badRequest(`sequence ${id} cannot change its pinned version`);
    if (open === undefined && pin !== null && !this.#weights.has(pin))
      return badRequest(`weights version ${pin} is no longer held`);
    return undefined;
  }

  #open({ sequence: id, append, pin, replies = [], sharedPrefix }: GenerateRequest): OpenSequence {
    const opening = replies[0]?.start ?? append.length;
    // At least one token stays outside the prefix, because its logits start the reply.
    const prefixLength = Math.max(0, Math.min(sharedPrefix, opening - 1));
    const prefixKey = append.subarray(0, prefixLength).join();
    if (pin !== null) this.#weights.hold(pin);
    const trace = traceOfReplies(prefixLength, replies, this.#options.prefillTokens);
    const sequence = this.#scheduler.open({ id, pin, prefixKey, prefixLength, trace });
    const open: OpenSequence = { sequence, history: new History(), reply: undefined };
    this.#openSequences.set(id, open);
    return open;
  }

  /** Closes a sequence's request, also in the gauge's queue, and returns it; undefined if none is open. */
  #withdraw(open: OpenSequence): Reply | undefined {
    const { reply } = open;
    if (reply !== undefined && open.sequence.phase === "waiting") this.#gauge.abandoned();
    open.reply = undefined;
    return reply;
  }

  #wake(): void {
    if (this.#running !== undefined || this.#closing) return;
    this.#running = this.#run().finally(() => {
      this.#running = undefined;
    });
  }

  async #run(): Promise<void> {
    try {
      for (;;) {
        // The ports deliver everything that has arrived before the next step is chosen.
        await new Promise<void>((resolve) => setImmediate(resolve));
        if (this.#closing) return;
        this.#adopt();
        if (!(await this.#step())) return;
      }
    } catch (error) {
      this.#fail(error);
    }
  }

  /** Runs the next step; returns false if there was none. */
  async #step(): Promise<boolean> {
    const { waiting } = this.#scheduler;
    const repliesBefore = this.#steps.replies;
    const plan = this.#scheduler.plan();
    this.#gauge.begun(waiting - this.#scheduler.waiting);
    try {
      await this.#steps.run(plan, this.#weights);
    } finally {
      this.#gauge.finished();
      this.#gauge.delivered(this.#steps.replies - repliesBefore);
    }
    return plan.step.kind !== "none";
  }

  #fail(cause: unknown): void {
    const message = cause instanceof Error ? cause.message : String(cause);
    const code = cause instanceof NotFiniteLogits ? "not_finite" : "session_failed";
    const failure: GenerationFailure = { code, message, cause };
    this.#failure = failure;
    for (const open of this.#openSequences.values()) this.#withdraw(open)?.callbacks.fail(failure);
  }

  #adopt(): void {
    const start = performance.now();
    const version = this.#weights.adopt();
    if (version === undefined) return;
    this.#scheduler.adopt(version, this.#options.kvOnUpdate === "recompute");
    this.#adoptions.recordAdoption(performance.now() - start);
    this.#options.onAdopted(version);
  }
}
