/**
 * One generator thread's loop: asks the scheduler for a step, runs it on the model, writes the cache, samples, ends replies. Requests,
 * cancellations and new weights come in between steps; answers go out through each request's callbacks.
 * Invariants: a reply depends on (weights, history, stream key) alone, not on who shared its batches (barring evictions, whose
 * re-fed tokens may differ in the last bit); a failed step fails every open request and every later one.
 */
import type { Finish, Sampled, Version } from "../../domain/Episode.ts";
import { type Random, stream } from "../../domain/Random.ts";
import type { StopMatcher, StopState } from "../tokenizer/StopMatcher.ts";
import { bucket, KeyValueCache } from "./Cache.ts";
import type { Extended, LanguageModel } from "./LanguageModel.ts";
import type { GenerateRequest, GeneratorGauges } from "./Policy.ts";
import { Sampler } from "./Sampler.ts";
import { type Chunk, type Plan, PREFIX_ROWS, Scheduler, type Sequence, TIME_BUCKET } from "./Scheduler.ts";
import { WeightSets } from "./WeightSets.ts";

export interface EngineOptions {
  readonly slots: number;
  readonly prefillTokens: number;
  readonly prefillRows: number;
  readonly prefillPatience: number;
  readonly kvOnUpdate: "keep" | "recompute";
  /** Ids that end a reply. */
  readonly stopIds: readonly number[];
  /** Finds stop sequences; null without any. */
  readonly stops: StopMatcher | null;
  /** Called between steps, when `version` is in use from the next one on. */
  readonly onAdopted: (version: Version) => void;
}

export interface ReplyCallbacks {
  readonly done: (sampled: Sampled) => void;
  readonly fail: (error: EngineFailure) => void;
}

export interface EngineFailure {
  readonly code: "session_failed" | "bad_request";
  readonly message: string;
}

/** Batches are padded to multiples of this many rows, so that few shapes occur; it is at least 2 (see DESIGN, bits). */
export const ROW_BUCKET = 8;

interface Reply {
  readonly request: GenerateRequest;
  readonly callbacks: ReplyCallbacks;
  readonly random: Random;
  /** Tokens of the history before this request. */
  readonly base: number;
  readonly ids: Int32Array;
  readonly mu: Float32Array;
  readonly versions: Int32Array;
  count: number;
  entropy: number;
  stop: StopState;
}

interface Entry {
  readonly sequence: Sequence;
  history: Int32Array;
  reply: Reply | undefined;
}

export class Engine<W> {
  readonly #model: LanguageModel<W>;
  readonly #options: EngineOptions;
  readonly #scheduler: Scheduler;
  readonly #sets: WeightSets<W>;
  readonly #entries = new Map<number, Entry>();
  readonly #cache: KeyValueCache;
  readonly #prefixes: KeyValueCache;
  readonly #scratch: KeyValueCache;
  readonly #sampler: Sampler;
  readonly #stopIds: ReadonlySet<number>;
  readonly #rowLimit: number;
  #stepIds = new BigInt64Array(0);
  #stepPasts = new BigInt64Array(0);
  #running: Promise<void> | undefined;
  #failure: EngineFailure | undefined;
  #closing = false;
  #offeredAt = 0;
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
    this.#scheduler = new Scheduler(options, initial.version);
    this.#sets = new WeightSets(initial.version, model.weights(initial.version, initial.buffer));
    this.#cache = new KeyValueCache(model.shape);
    this.#prefixes = new KeyValueCache(model.shape);
    this.#scratch = new KeyValueCache(model.shape);
    this.#sampler = new Sampler(model.shape.vocabSize);
    this.#stopIds = new Set(options.stopIds);
    this.#rowLimit = bucket(options.slots, ROW_BUCKET);
  }

  /** Opens a request; the callbacks are called once, unless it is cancelled. */
  generate(request: GenerateRequest, callbacks: ReplyCallbacks): void {
    const refused = this.#failure ?? this.#refusal(request);
    if (refused !== undefined) {
      callbacks.fail(refused);
      return;
    }
    const entry = this.#entries.get(request.sequence) ?? this.#open(request);
    const { sequence } = entry;
    const base = sequence.length;
    this.#append(entry, request.append, base);
    this.#scheduler.request(sequence, request.append.length);
    entry.reply = {
      request,
      callbacks,
      random: stream(request.key),
      base,
      ids: new Int32Array(request.maxTokens),
      mu: new Float32Array(request.maxTokens),
      versions: new Int32Array(request.maxTokens),
      count: 0,
      entropy: 0,
      stop: this.#options.stops?.start ?? 0,
    };
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
    const { reply, sequence } = entry;
    entry.reply = undefined;
    this.#entries.delete(id);
    this.#scheduler.release(id);
    if (sequence.pin !== null) this.unhold(sequence.pin);
    reply?.callbacks.fail({ code: "bad_request", message: `sequence ${id} was released while it was being generated` });
  }

  /** New weights have arrived; they are adopted before the next step. */
  offer(version: Version, buffer: ArrayBuffer): void {
    this.#offeredAt = performance.now();
    this.#sets.offer(version, this.#model.weights(version, buffer));
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

  #refusal(request: GenerateRequest): EngineFailure | undefined {
    const bad = (message: string): EngineFailure => ({ code: "bad_request", message });
    const { append, maxTokens, pin, sampling, sequence: id } = request;
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
    const prefixKey = prefixLength === 0 ? "" : append.subarray(0, prefixLength).join();
    if (pin !== null) this.#sets.hold(pin);
    const entry: Entry = {
      sequence: this.#scheduler.open({ id, pin, prefixKey, prefixLength }),
      history: new Int32Array(0),
      reply: undefined,
    };
    this.#entries.set(id, entry);
    return entry;
  }

  /** Gives the history room for the request's tokens and its reply at once. */
  #append(entry: Entry, ids: Int32Array, length: number): void {
    if (entry.history.length < length + ids.length + 1) {
      const grown = new Int32Array(bucket(2 * (length + ids.length)));
      grown.set(entry.history.subarray(0, length));
      entry.history = grown;
    }
    entry.history.set(ids, length);
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
        // Lets the port deliver everything that has arrived before the next step is chosen.
        await new Promise<void>((resolve) => setImmediate(resolve));
        if (this.#closing) return;
        this.#adopt();
        const plan = this.#scheduler.plan();
        const start = performance.now();
        this.#arrange(plan);
        if (plan.step.kind === "none") return;
        if (plan.step.kind === "decode") await this.#decode(plan.step);
        else if (plan.step.kind === "prefill") await this.#prefill(plan.step);
        else await this.#fillPrefix(plan.step);
        this.#busyMs += performance.now() - start;
      }
    } catch (error) {
      this.#fail(error instanceof Error ? error.message : String(error));
    }
  }

  #fail(message: string): void {
    const failure: EngineFailure = { code: "session_failed", message };
    this.#failure = failure;
    for (const entry of this.#entries.values()) {
      const reply = entry.reply;
      entry.reply = undefined;
      reply?.callbacks.fail(failure);
    }
  }

  #adopt(): void {
    const version = this.#sets.adopt();
    if (version === undefined) return;
    this.#scheduler.adopt(version, this.#options.kvOnUpdate === "recompute", (other) => this.#sets.has(other));
    this.#adoptions++;
    this.#adoptionLast = performance.now() - this.#offeredAt;
    this.#adoptionMax = Math.max(this.#adoptionMax, this.#adoptionLast);
    this.#options.onAdopted(version);
  }

  /** Brings the cache in line with the scheduler's rows. */
  #arrange({ moves, loads }: Plan): void {
    for (const { a, b } of moves) this.#cache.swap(a, b);
    const loading = new Set(loads.map(({ sequence }) => sequence));
    const lengths = new Int32Array(this.#cache.rows);
    for (const sequence of this.#scheduler.occupied) {
      if (sequence.row >= this.#cache.rows)
        this.#cache.reserve(Math.min(this.#rowLimit, bucket(2 * sequence.row, ROW_BUCKET)), 1);
      if (!loading.has(sequence)) lengths[sequence.row] = sequence.cached;
    }
    let longest = 0;
    lengths.forEach((length, row) => {
      this.#cache.truncate(row, length);
      longest = Math.max(longest, length);
    });
    for (const { sequence, prefix, count } of loads) {
      this.#cache.reserve(0, count);
      this.#cache.copy(sequence.row, this.#prefixes, prefix.row, count);
      longest = Math.max(longest, count);
    }
    // A long sequence that has left would make every later step pay for its length.
    if (this.#cache.capacity >= 2 * bucket(longest + 1)) this.#cache.shrink(longest + 1);
  }

  async #decode(step: Extract<Plan["step"], { kind: "decode" }>): Promise<void> {
    const rows = bucket(step.to - step.from, ROW_BUCKET);
    const from = Math.max(0, Math.min(step.from, this.#rowLimit - rows));
    let longest = 0;
    for (let row = from; row < from + rows; row++) longest = Math.max(longest, this.#cache.length(row));
    this.#cache.reserve(from + rows, longest + 1);
    if (this.#stepIds.length !== rows) {
      this.#stepIds = new BigInt64Array(rows);
      this.#stepPasts = new BigInt64Array(rows);
    }
    this.#stepIds.fill(0n);
    for (let row = 0; row < rows; row++) this.#stepPasts[row] = BigInt(this.#cache.length(from + row));
    for (const sequence of step.sequences)
      this.#stepIds[sequence.row - from] = BigInt(this.#entries.get(sequence.id)!.history[sequence.cached]!);
    const replies = step.sequences.map(({ id }) => this.#entries.get(id)?.reply);
    const weights = this.#sets.get(step.version);
    const result = await this.#model.step(weights, this.#stepIds, this.#cache.view(from, from + rows), this.#stepPasts);
    this.#decodeSteps++;
    for (const [index, sequence] of step.sequences.entries()) {
      const reply = replies[index];
      const entry = this.#entries.get(sequence.id);
      // Whoever was cancelled or released while the step ran has nothing to keep.
      if (reply === undefined || entry?.reply !== reply) continue;
      const row = sequence.row - from;
      this.#cache.append(sequence.row, result, row, 1, 1, step.version);
      this.#scheduler.decoded(sequence);
      this.#sample(entry, reply, result.logits, row, step.version);
    }
  }

  async #prefill({ chunks, version }: Extract<Plan["step"], { kind: "prefill" }>): Promise<void> {
    const replies = chunks.map(({ sequence }) => this.#entries.get(sequence.id)?.reply);
    const result = await this.#feed(
      version,
      chunks.map((chunk) => ({
        ids: this.#entries.get(chunk.sequence.id)!.history.subarray(chunk.start, chunk.start + chunk.count),
        cache: this.#cache,
        row: chunk.sequence.row,
        past: chunk.start,
      })),
    );
    for (const [index, chunk] of chunks.entries()) this.#keepChunk(chunk, replies[index], result, index, version);
  }

  #keepChunk(chunk: Chunk, reply: Reply | undefined, result: Fed, index: number, version: Version): void {
    const { sequence, start, count, last } = chunk;
    this.#prefilledTokens += count;
    const entry = this.#entries.get(sequence.id);
    if (reply === undefined || entry?.reply !== reply) return;
    this.#cache.reserve(0, start + count);
    this.#cache.append(sequence.row, result.extended, index, result.time, count, version);
    this.#scheduler.fed(chunk);
    if (last) this.#sample(entry, reply, result.extended.logits, index, version);
  }

  async #fillPrefix({
    version,
    prefix,
    sequence,
    start,
    count,
  }: Extract<Plan["step"], { kind: "prefix" }>): Promise<void> {
    const { row } = prefix;
    this.#prefixes.reserve(PREFIX_ROWS, prefix.length);
    if (start === 0) this.#prefixes.truncate(row, 0);
    const ids = this.#entries.get(sequence.id)!.history.subarray(start, start + count);
    const { extended, time } = await this.#feed(version, [{ ids, cache: this.#prefixes, row, past: start }]);
    this.#prefixes.append(row, extended, 0, time, count, version);
    this.#scheduler.prefixFed(prefix, count);
    this.#prefilledTokens += count;
  }

  /** Feeds several new tokens to each of some rows, which all have a past or all have none. */
  async #feed(version: Version, lanes: readonly Lane[]): Promise<Fed> {
    const rows = Math.max(2, lanes.length);
    const time = bucket(
      lanes.reduce((most, { ids }) => Math.max(most, ids.length), 0),
      TIME_BUCKET,
    );
    const ids = new BigInt64Array(rows * time);
    const lengths = new BigInt64Array(rows).fill(1n);
    const pasts = new BigInt64Array(rows);
    let longest = 0;
    lanes.forEach((lane, row) => {
      for (let i = 0; i < lane.ids.length; i++) ids[row * time + i] = BigInt(lane.ids[i]!);
      lengths[row] = BigInt(lane.ids.length);
      pasts[row] = BigInt(lane.past);
      longest = Math.max(longest, lane.past);
    });
    const weights = this.#sets.get(version);
    const tokens = { ids, lengths, time };
    if (longest === 0) return { time, extended: await this.#model.prefill(weights, tokens) };
    this.#scratch.reset(rows, longest + time);
    for (const [index, { cache, row, past }] of lanes.entries()) this.#scratch.copy(index, cache, row, past);
    return { time, extended: await this.#model.extend(weights, tokens, this.#scratch.view(0, rows), pasts) };
  }

  #sample(entry: Entry, reply: Reply, logits: Float32Array, row: number, version: Version): void {
    const { sequence } = entry;
    const { request } = reply;
    const sampler = this.#sampler;
    sampler.draw(logits, row * this.#model.shape.vocabSize, request.sampling, reply.random.uniform());
    const { id } = sampler;
    const at = reply.count++;
    reply.ids[at] = id;
    reply.mu[at] = sampler.mu;
    reply.versions[at] = version;
    reply.entropy += sampler.entropy;
    this.#sampledTokens++;
    if (sequence.length === entry.history.length) this.#append(entry, new Int32Array(0), sequence.length);
    entry.history[sequence.length] = id;
    this.#scheduler.grown(sequence);

    let finish: Finish | undefined;
    if (this.#stopIds.has(id)) finish = "stop";
    else if (this.#options.stops !== null) {
      const { matched, state } = this.#options.stops.advance(reply.stop, id);
      reply.stop = state;
      if (matched) finish = "stop";
    }
    if (finish === undefined && (reply.count >= request.maxTokens || sequence.length >= this.#model.shape.maxPositions))
      finish = "length";
    if (finish === undefined) return;
    entry.reply = undefined;
    this.#scheduler.finish(sequence);
    reply.callbacks.done({
      ids: reply.ids.slice(0, reply.count),
      mu: reply.mu.slice(0, reply.count),
      versions: reply.versions.slice(0, reply.count),
      entropy: reply.entropy / reply.count,
      finish,
    });
  }
}

/** New tokens of one row and where its past is. */
interface Lane {
  readonly ids: Int32Array;
  readonly cache: KeyValueCache;
  readonly row: number;
  readonly past: number;
}

interface Fed {
  readonly extended: Extended;
  /** Padded new tokens of a row. */
  readonly time: number;
}
