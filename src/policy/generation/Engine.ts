/**
 * One generator thread's loop: asks the scheduler for a step, runs it on the model, samples, ends replies. Requests, cancellations and
 * new weights come in between steps; answers go out through each request's callbacks.
 * Invariants: a reply depends on (weights, history, stream key) alone, not on who shared its batches (barring evictions, whose
 * re-fed tokens may differ in the last bit); a failed step fails every open request and every later one.
 */
import type { Finish, Version } from "../../domain/Episode.ts";
import type { StopMatcher } from "../tokenizer/StopMatcher.ts";
import { CachedModel, type HistoryOf } from "./CachedModel.ts";
import type { LanguageModel } from "./LanguageModel.ts";
import type { DecodeStep, PrefillStep, PrefixStep, Sequence } from "./Plan.ts";
import type { GenerateRequest, GeneratorGauges } from "./Policy.ts";
import { type EngineFailure, History, Reply, type ReplyCallbacks } from "./Reply.ts";
import { Sampler } from "./Sampler.ts";
import { Scheduler, type SchedulerOptions } from "./Scheduler.ts";
import { WeightSets } from "./WeightSets.ts";

export interface EngineOptions extends SchedulerOptions {
  readonly kvOnUpdate: "keep" | "recompute";
  /** Ids that end a reply. */
  readonly stopIds: readonly number[];
  /** Finds stop sequences; null without any. */
  readonly stops: StopMatcher | null;
  /** Called between steps, when `version` is in use from the next one on. */
  readonly onAdopted: (version: Version) => void;
}

interface Entry {
  readonly sequence: Sequence;
  readonly history: History;
  reply: Reply | undefined;
}

export class Engine<W> {
  readonly #model: LanguageModel<W>;
  readonly #cached: CachedModel<W>;
  readonly #options: EngineOptions;
  readonly #scheduler: Scheduler;
  readonly #sets: WeightSets<W>;
  readonly #entries = new Map<number, Entry>();
  readonly #sampler: Sampler;
  readonly #stopIds: ReadonlySet<number>;
  readonly #historyOf: HistoryOf = ({ id }) => this.#entries.get(id)!.history.ids;
  #running: Promise<void> | undefined;
  #failure: EngineFailure | undefined;
  #closing = false;
  #offerMs = 0;
  #sampledTokens = 0;
  #prefilledTokens = 0;
  #decodeSteps = 0;
  #adoptions = 0;
  #adoptionLast = 0;
  #adoptionMax = 0;
  #busyMs = 0;

  constructor(
    model: LanguageModel<W>,
    initial: { readonly version: Version; readonly buffer: ArrayBuffer },
    options: EngineOptions,
  ) {
    this.#model = model;
    this.#options = options;
    this.#cached = new CachedModel(model, options.slots);
    this.#scheduler = new Scheduler(options, initial.version);
    this.#sets = new WeightSets(initial.version, model.weights(initial.version, initial.buffer));
    this.#sampler = new Sampler(model.shape.vocabSize);
    this.#stopIds = new Set(options.stopIds);
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
    this.#wake();
  }

  /** Ends a sequence's open request without an answer; the sequence is as before the request. */
  cancel(id: number): void {
    const entry = this.#entries.get(id);
    if (entry?.reply === undefined) return;
    const { base } = entry.reply;
    entry.reply = undefined;
    this.#scheduler.finish(entry.sequence, base);
    if (base === 0) this.release(id);
  }

  /** Forgets a sequence and frees its row. An open request fails. Safe to call twice. */
  release(id: number): void {
    const entry = this.#entries.get(id);
    if (entry === undefined) return;
    this.#entries.delete(id);
    this.#scheduler.release(id);
    if (entry.sequence.pin !== null) this.unhold(entry.sequence.pin);
    const message = `sequence ${id} was released while it was being generated`;
    entry.reply?.callbacks.fail({ code: "bad_request", message });
  }

  /** New weights have arrived; they are adopted before the next step. Throws a RangeError where their size is wrong. */
  offer(version: Version, buffer: ArrayBuffer): void {
    const start = performance.now();
    this.#sets.offer(version, this.#model.weights(version, buffer));
    this.#offerMs = performance.now() - start;
    if (this.#running === undefined) this.#adopt();
  }

  /** Keeps a version until `unhold`; false where it is gone. */
  hold(version: Version): boolean {
    return this.#sets.hold(version);
  }

  unhold(version: Version): void {
    this.#sets.unhold(version);
    if (this.#running === undefined) this.#adopt();
  }

  gauges(): GeneratorGauges {
    return {
      version: this.#sets.newest,
      slots: this.#options.slots,
      active: this.#scheduler.active,
      idle: this.#scheduler.idle,
      waiting: this.#scheduler.waiting,
      sampledTokens: this.#sampledTokens,
      prefilledTokens: this.#prefilledTokens,
      refilledTokens: this.#scheduler.refilledTokens,
      decodeSteps: this.#decodeSteps,
      adoptions: this.#adoptions,
      adoptionMs: { last: this.#adoptionLast, max: this.#adoptionMax },
      busyMs: this.#busyMs,
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
        const start = performance.now();
        const plan = this.#scheduler.plan();
        if (plan.step.kind === "none") return;
        this.#cached.arrange(plan, this.#scheduler.occupied);
        if (plan.step.kind === "decode") await this.#decode(plan.step);
        else if (plan.step.kind === "prefill") await this.#prefill(plan.step);
        else await this.#feedPrefixes(plan.step);
        this.#busyMs += performance.now() - start;
      }
    } catch (error) {
      this.#fail(error);
    }
  }

  #fail(cause: unknown): void {
    const message = cause instanceof Error ? cause.message : String(cause);
    const failure: EngineFailure = { code: "session_failed", message, cause };
    this.#failure = failure;
    for (const entry of this.#entries.values()) {
      const { reply } = entry;
      entry.reply = undefined;
      reply?.callbacks.fail(failure);
    }
  }

  #adopt(): void {
    const start = performance.now();
    const version = this.#sets.adopt();
    if (version === undefined) return;
    this.#scheduler.adopt(version, this.#options.kvOnUpdate === "recompute");
    this.#adoptions++;
    this.#adoptionLast = this.#offerMs + performance.now() - start;
    this.#adoptionMax = Math.max(this.#adoptionMax, this.#adoptionLast);
    this.#options.onAdopted(version);
  }

  /** The entry, if the request that a step was run for is still open. */
  #stillOpen({ id }: Sequence, reply: Reply | undefined): Entry | undefined {
    const entry = this.#entries.get(id);
    return reply !== undefined && entry?.reply === reply ? entry : undefined;
  }

  async #decode(step: DecodeStep): Promise<void> {
    const { sequences, version } = step;
    const replies = sequences.map(({ id }) => this.#entries.get(id)?.reply);
    const made = await this.#cached.decode(this.#sets.get(version), step, this.#historyOf);
    this.#decodeSteps++;
    for (const [index, sequence] of sequences.entries()) {
      const entry = this.#stillOpen(sequence, replies[index]);
      if (entry === undefined) continue;
      const row = sequence.row - made.from;
      this.#cached.keep(sequence, made, row, 1, version);
      this.#scheduler.decoded(sequence);
      this.#sample(entry, made.extended.logits, row, version);
    }
  }

  async #prefill({ chunks, version }: PrefillStep): Promise<void> {
    const replies = chunks.map(({ sequence }) => this.#entries.get(sequence.id)?.reply);
    const made = await this.#cached.feed(this.#sets.get(version), chunks, this.#historyOf);
    for (const [index, chunk] of chunks.entries()) {
      this.#prefilledTokens += chunk.count;
      const entry = this.#stillOpen(chunk.sequence, replies[index]);
      if (entry === undefined) continue;
      this.#cached.keep(chunk.sequence, made, index, chunk.count, version);
      this.#scheduler.fed(chunk);
      if (chunk.last) this.#sample(entry, made.extended.logits, index, version);
    }
  }

  async #feedPrefixes({ chunks, version }: PrefixStep): Promise<void> {
    await this.#cached.feedPrefixes(this.#sets.get(version), chunks, version, this.#historyOf);
    for (const chunk of chunks) {
      this.#prefilledTokens += chunk.count;
      this.#scheduler.prefixFed(chunk);
    }
  }

  #sample({ sequence, history, reply }: Entry, logits: Float32Array, row: number, version: Version): void {
    if (reply === undefined) return;
    const sampler = this.#sampler;
    sampler.draw(logits, row * this.#model.shape.vocabSize, reply.request.sampling, reply.uniform());
    reply.push(sampler, version);
    history.writeOne(sampler.id, sequence.length);
    this.#scheduler.grown(sequence);
    this.#sampledTokens++;
    const finish = this.#finish(reply, sequence, sampler.id);
    if (finish === undefined) return;
    this.#entries.get(sequence.id)!.reply = undefined;
    this.#scheduler.finish(sequence);
    reply.callbacks.done(reply.sampled(finish));
  }

  #finish(reply: Reply, sequence: Sequence, id: number): Finish | undefined {
    if (this.#stopIds.has(id)) return "stop";
    if (this.#options.stops !== null) {
      const { matched, state } = this.#options.stops.advance(reply.stop, id);
      reply.stop = state;
      if (matched) return "stop";
    }
    return reply.full || sequence.length >= this.#model.shape.maxPositions ? "length" : undefined;
  }
}
