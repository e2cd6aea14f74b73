/**
 * One generator thread's loop: asks the scheduler for a step, runs it, and begins again while there is work. Requests, cancellations and
 * new weights come in between steps; answers go out through each request's callbacks.
 * Invariants: a reply depends on (weights, history, stream key) alone, not on which others shared its batches, nor, where refills are exact,
 * on evictions; a failed step fails every open request and every later one.
 */
import type { Version } from "../domain/Episode.ts";
import { Gauge, type GaugeClock } from "../flow/Gauge.ts";
import type { Payload } from "../model/weights/Weights.ts";
import { AdoptionTimes } from "./AdoptionTimes.ts";
import type { GeneratorModel } from "./LanguageModel.ts";
import type { GenerateRequest, ThreadGauges } from "./Policy.ts";
import { type EngineFailure, History, Reply, type ReplyCallbacks } from "./Reply.ts";
import { NotFiniteLogits } from "./Sampler.ts";
import { Scheduler, type SchedulerOptions } from "./Scheduler.ts";
import { type Entry, StepRunner, type StepRunnerOptions } from "./StepRunner.ts";
import { WeightSets } from "./WeightSets.ts";

export interface EngineOptions extends SchedulerOptions, StepRunnerOptions {
  readonly kvOnUpdate: "keep" | "recompute";
  /** Whether the version before the newest is kept for a hold that may come: other threads may not have the newest yet. */
  readonly keepsOlder: boolean;
  /** Called between steps, when `version` is in use from the next one on. */
  readonly onAdopted: (version: Version) => void;
}

/** Real time: a thread of its own has no fiber to take a clock from. */
const threadClock: GaugeClock = { monotonicTimeNanosUnsafe: () => process.hrtime.bigint() };

export class Engine<W> {
  readonly #model: GeneratorModel<W>;
  readonly #options: EngineOptions;
  readonly #scheduler: Scheduler;
  readonly #sets: WeightSets<W>;
  readonly #entries = new Map<number, Entry>();
  readonly #steps: StepRunner<W>;
  readonly #adoptions = new AdoptionTimes();
  /** The thread is the one slot, the queue is requests without a cache row. */
  readonly #gauge: Gauge;
  #running: Promise<void> | undefined;
  #failure: EngineFailure | undefined;
  #closing = false;

  constructor(
    model: GeneratorModel<W>,
    initial: { readonly version: Version; readonly payload: Payload },
    options: EngineOptions,
  ) {
    this.#model = model;
    this.#options = options;
    this.#scheduler = new Scheduler(options, initial.version);
    const weights = model.weights(initial.version, initial.payload);
    this.#sets = new WeightSets(initial.version, weights, model.forget, options.keepsOlder);
    this.#steps = new StepRunner(model, this.#scheduler, this.#entries, options);
    this.#gauge = new Gauge({ name: "generator", kind: "service", concurrency: 1, capacity: 0 }, threadClock);
  }

  /** Opens a request; one of the callbacks is called once, unless it is cancelled. */
  generate(request: GenerateRequest, callbacks: ReplyCallbacks): void {
    const refused = this.#failure ?? this.#refusal(request);
    if (refused !== undefined) {
      callbacks.fail(refused);
      return;
    }
    const entry = this.#entries.get(request.sequence) ?? this.#open(request);
    const base = entry.sequence.length;
    entry.history.write(request.append, base);
    entry.reply = new Reply(request, callbacks, base, this.#options.stops?.start ?? 0);
    this.#scheduler.request(entry.sequence, request.append.length);
    if (entry.sequence.phase === "waiting") this.#gauge.enqueued();
    this.#wake();
  }

  /** Ends a sequence's open request without an answer; the sequence is as before the request. */
  cancel(id: number): void {
    const entry = this.#entries.get(id);
    if (entry === undefined) return;
    const reply = this.#withdraw(entry);
    if (reply === undefined) return;
    this.#scheduler.finish(entry.sequence, reply.base);
    if (reply.base === 0) this.release(id);
  }

  /** Forgets a sequence and frees its row. An open request fails. Safe to call twice. */
  release(id: number): void {
    const entry = this.#entries.get(id);
    if (entry === undefined) return;
    this.#entries.delete(id);
    const reply = this.#withdraw(entry);
    this.#scheduler.release(id);
    if (entry.sequence.pin !== null) this.unhold(entry.sequence.pin);
    const message = `sequence ${id} was released while it was being generated`;
    reply?.callbacks.fail({ code: "bad_request", message });
  }

  /** New weights have arrived; they are adopted before the next step. Throws a RangeError where their kind or size is wrong. */
  offer(version: Version, payload: Payload): void {
    const start = performance.now();
    this.#sets.offer(version, this.#model.weights(version, payload));
    this.#adoptions.offered(performance.now() - start);
    if (this.#running === undefined) this.#adopt();
  }

  /** Keeps a version until `unhold`; false where it is gone, or the model cannot keep one. */
  hold(version: Version): boolean {
    return this.#model.versions.pins && this.#sets.hold(version);
  }

  unhold(version: Version): void {
    this.#sets.unhold(version);
    if (this.#running === undefined) this.#adopt();
  }

  gauges(): ThreadGauges {
    return {
      version: this.#sets.newest,
      slots: this.#options.slots,
      active: this.#scheduler.active,
      idle: this.#scheduler.idle,
      sampledTokens: this.#steps.sampledTokens,
      prefilledTokens: this.#steps.prefilledTokens,
      refilledTokens: this.#scheduler.refilledTokens,
      decodeSteps: this.#steps.decodeSteps,
      adoptions: this.#adoptions.count,
      adoptionMs: this.#adoptions.ms,
      threads: this.#gauge.sample(),
    };
  }

  /** Resolves when no step is running or planned. */
  async settled(): Promise<void> {
    while (this.#running !== undefined) await this.#running;
  }

  /** Stops after the running step and closes the model. Open requests are not answered. */
  async close(): Promise<void> {
    this.#closing = true;
    await this.settled();
    await this.#model.close();
  }

  #refusal({ append, maxTokens, pin, sampling, sequence: id }: GenerateRequest): EngineFailure | undefined {
    const bad = (message: string): EngineFailure => ({ code: "bad_request", message });
    const entry = this.#entries.get(id);
    const { maxPositions, vocabSize } = this.#model.shape;
    if (entry?.reply !== undefined) return bad(`sequence ${id} is being generated already`);
    if (maxTokens < 1) return bad(`maxTokens must be 1 or more, not ${maxTokens}`);
    if (entry === undefined && append.length === 0) return bad(`sequence ${id} opens without a token`);
    if (!(sampling.temperature >= 0)) return bad(`temperature must be 0 or more, not ${sampling.temperature}`);
    const length = (entry?.sequence.length ?? 0) + append.length;
    if (length > maxPositions)
      return bad(`a history of ${length} tokens exceeds the model's ${maxPositions} positions`);
    const foreign = append.find((token) => token < 0 || token >= vocabSize);
    if (foreign !== undefined) return bad(`id ${foreign} is outside the vocabulary of ${vocabSize}`);
    if (entry !== undefined && entry.sequence.pin !== pin)
      return bad(`sequence ${id} cannot change its pinned version`);
    if (entry === undefined && pin !== null && !this.#sets.has(pin))
      return bad(`weights version ${pin} is no longer held`);
    return undefined;
  }

  #open({ sequence: id, append, pin, sharedPrefix }: GenerateRequest): Entry {
    // At least one token stays outside the prefix: its logits start the reply.
    const prefixLength = Math.max(0, Math.min(sharedPrefix, append.length - 1));
    const prefixKey = append.subarray(0, prefixLength).join();
    if (pin !== null) this.#sets.hold(pin);
    const sequence = this.#scheduler.open({ id, pin, prefixKey, prefixLength });
    const entry: Entry = { sequence, history: new History(), reply: undefined };
    this.#entries.set(id, entry);
    return entry;
  }

  /** Closes an entry's request, also in the gauge's queue, and returns it; undefined where none is open. */
  #withdraw(entry: Entry): Reply | undefined {
    const { reply } = entry;
    if (reply !== undefined && entry.sequence.phase === "waiting") this.#gauge.abandoned();
    entry.reply = undefined;
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
        // Lets the ports deliver everything that has arrived before the next step is chosen.
        await new Promise<void>((resolve) => setImmediate(resolve));
        if (this.#closing) return;
        this.#adopt();
        if (!(await this.#step())) return;
      }
    } catch (error) {
      this.#fail(error);
    }
  }

  /** Runs the next step; false where there is nothing to do. */
  async #step(): Promise<boolean> {
    const { waiting } = this.#scheduler;
    const { replies } = this.#steps;
    const plan = this.#scheduler.plan();
    this.#gauge.begun(waiting - this.#scheduler.waiting);
    try {
      await this.#steps.run(plan, this.#sets);
    } finally {
      this.#gauge.finished();
      this.#gauge.delivered(this.#steps.replies - replies);
    }
    return plan.step.kind !== "none";
  }

  #fail(cause: unknown): void {
    const message = cause instanceof Error ? cause.message : String(cause);
    const code = cause instanceof NotFiniteLogits ? "not_finite" : "session_failed";
    const failure: EngineFailure = { code, message, cause };
    this.#failure = failure;
    for (const entry of this.#entries.values()) this.#withdraw(entry)?.callbacks.fail(failure);
  }

  #adopt(): void {
    const start = performance.now();
    const version = this.#sets.adopt();
    if (version === undefined) return;
    this.#scheduler.adopt(version, this.#options.kvOnUpdate === "recompute");
    this.#adoptions.adopted(performance.now() - start);
    this.#options.onAdopted(version);
  }
}
