/**
 * The policy over generator threads: requests go to the thread that holds their sequence, weights arrive there on ports handed to
 * the learner, gauges come back. Invariants: a sequence stays on the thread it was opened on; when a thread dies every waiting and
 * every later request fails at once.
 */
import { MessageChannel, type MessagePort } from "node:worker_threads";
import { type Context, Effect, Layer, type Scope } from "effect";
import type { GenerationSection, ModelSection } from "../../config/RunConfig.ts";
import type { Version } from "../../domain/Episode.ts";
import { PolicyError } from "../../domain/Errors.ts";
import type { Qwen2Config } from "../model/Architecture.ts";
import { make as makeThread, type Thread, type ThreadFailure } from "../runtime/Thread.ts";
import type { BytesOf } from "../tokenizer/ByteDecoder.ts";
import type { GeneratorProtocol, StartRequest, TokenBytes } from "./Messages.ts";
import { type GeneratorGauges, Policy } from "./Policy.ts";

export interface GeneratorOptions {
  readonly config: Qwen2Config;
  readonly version: Version;
  /** Every parameter in specification order; copied. */
  readonly parameters: Float32Array;
  readonly threads: (typeof ModelSection.Type)["generator_threads"];
  readonly generation: Pick<typeof GenerationSection.Type, "slots" | "stop" | "kv_on_update" | "prefill_tokens">;
  /** Ids that end a reply. */
  readonly stopIds: readonly number[];
  /** Bytes of an id, for stop sequences. */
  readonly bytesOf: BytesOf;
  /** While others decode, a prefill waits for this many sequences, at most `prefillPatience` decode steps. */
  readonly prefillRows?: number;
  readonly prefillPatience?: number;
}

export interface Generator extends Context.Service.Shape<typeof Policy> {
  /** One per thread, for the learner: WeightsMessage in, AdoptedMessage out. Each can be transferred once. */
  readonly ports: readonly MessagePort[];
  /** Keeps the newest version that every thread has, for the scope: requests pinned to it find it. */
  readonly hold: Effect.Effect<Version, PolicyError, Scope.Scope>;
  /** Suspends until a thread is gone and then fails. */
  readonly died: Effect.Effect<never, PolicyError>;
}

export const DEFAULT_PREFILL_ROWS = 4;
export const DEFAULT_PREFILL_PATIENCE = 4;

const policyError = (failure: ThreadFailure): PolicyError =>
  new PolicyError({
    reason:
      failure.reason === "thread_died"
        ? "thread_died"
        : failure.code === "bad_request"
          ? "bad_request"
          : "session_failed",
    message: failure.message,
    cause: failure.cause,
  });

/** The bytes of every id in one table that can be sent to a thread. */
export const tokenBytes = (vocabSize: number, bytesOf: BytesOf): TokenBytes => {
  const offsets = new Int32Array(vocabSize + 1);
  for (let id = 0; id < vocabSize; id++) offsets[id + 1] = offsets[id]! + bytesOf(id).length;
  const bytes = new Uint8Array(offsets[vocabSize]!);
  for (let id = 0; id < vocabSize; id++) bytes.set(bytesOf(id), offsets[id]);
  return { bytes, offsets };
};

interface Lane {
  readonly thread: Thread<GeneratorProtocol, PolicyError>;
  readonly port: MessagePort;
  /** Open sequences. */
  load: number;
  version: Version;
}

interface Waiter {
  readonly version: Version;
  readonly resume: (result: Effect.Effect<void, PolicyError>) => void;
}

const mergeGauges = (all: readonly GeneratorGauges[]): GeneratorGauges => {
  const sum = (of: (gauges: GeneratorGauges) => number): number => all.reduce((total, gauges) => total + of(gauges), 0);
  const most = (of: (gauges: GeneratorGauges) => number): number => Math.max(...all.map(of));
  return {
    version: Math.min(...all.map(({ version }) => version)),
    slots: sum(({ slots }) => slots),
    active: sum(({ active }) => active),
    idle: sum(({ idle }) => idle),
    waiting: sum(({ waiting }) => waiting),
    sampledTokens: sum(({ sampledTokens }) => sampledTokens),
    prefilledTokens: sum(({ prefilledTokens }) => prefilledTokens),
    refilledTokens: sum(({ refilledTokens }) => refilledTokens),
    decodeSteps: sum(({ decodeSteps }) => decodeSteps),
    adoptions: sum(({ adoptions }) => adoptions),
    adoptionMs: { last: most(({ adoptionMs }) => adoptionMs.last), max: most(({ adoptionMs }) => adoptionMs.max) },
    busyMs: sum(({ busyMs }) => busyMs),
  };
};

/** Starts the threads and their models. Fails with PolicyError where a thread dies or a session refuses. */
export const make = (options: GeneratorOptions): Effect.Effect<Generator, PolicyError, Scope.Scope> =>
  Effect.gen(function* () {
    const { config, generation } = options;
    const tokens = tokenBytes(generation.stop.length === 0 ? 0 : config.vocabSize, options.bytesOf);
    const waiters = new Set<Waiter>();
    const scope = yield* Effect.scope;

    const common = (): Version => Math.min(...lanes.map(({ version }) => version));
    const settle = (due: (waiter: Waiter) => boolean, result: Effect.Effect<void, PolicyError>): void => {
      for (const waiter of [...waiters]) {
        if (!due(waiter)) continue;
        waiters.delete(waiter);
        waiter.resume(result);
      }
    };

    const start = Effect.fnUntraced(function* (index: number) {
      const channel = new MessageChannel();
      yield* Effect.addFinalizer(() => Effect.sync(() => channel.port2.close()));
      const thread = yield* makeThread<GeneratorProtocol, PolicyError>({
        url: new URL("./worker.ts", import.meta.url),
        name: `generator-${index}`,
        fail: policyError,
        onEvent: ({ version }) => {
          lanes[index]!.version = version;
          settle((waiter) => waiter.version <= common(), Effect.void);
        },
        onDeath: (error) => settle(() => true, Effect.fail(error)),
      });
      const buffer = options.parameters.slice().buffer;
      const request: StartRequest = {
        config,
        version: options.version,
        buffer,
        weights: channel.port1,
        slots: generation.slots,
        prefillTokens: generation.prefill_tokens,
        prefillRows: options.prefillRows ?? DEFAULT_PREFILL_ROWS,
        prefillPatience: options.prefillPatience ?? DEFAULT_PREFILL_PATIENCE,
        kvOnUpdate: generation.kv_on_update,
        stopIds: options.stopIds,
        stops: generation.stop,
        tokens,
      };
      yield* thread.call("start", request, [channel.port1, buffer]);
      const lane: Lane = { thread, port: channel.port2, load: 0, version: options.version };
      return lane;
    });
    const indices = Array.from({ length: options.threads }, (_, index) => index);
    const lanes: readonly Lane[] = yield* Effect.forEach(indices, start, { concurrency: "unbounded" });

    const homes = new Map<number, { readonly lane: Lane; readonly pin: Version | null }>();
    const pins = new Map<Version, number>();
    const everywhere = <A>(call: (lane: Lane) => Effect.Effect<A, PolicyError>): Effect.Effect<A[], PolicyError> =>
      Effect.forEach(lanes, call, { concurrency: "unbounded" });
    const dead = (): PolicyError | undefined =>
      lanes.map(({ thread }) => thread.death()).find((error) => error !== undefined);
    /** Calls nobody waits for; they keep their place on the port before those that follow. */
    const tell = (call: Effect.Effect<unknown, PolicyError>): Effect.Effect<void> =>
      Effect.asVoid(Effect.forkIn(Effect.ignore(call), scope, { startImmediately: true }));

    /** A pinned version is kept in every thread while any sequence anywhere is pinned to it. */
    const pin = (version: Version): Effect.Effect<void> => {
      const count = pins.get(version) ?? 0;
      pins.set(version, count + 1);
      return count > 0 ? Effect.void : tell(everywhere(({ thread }) => thread.call("hold", version)));
    };
    const unpin = (version: Version): Effect.Effect<void> => {
      const count = (pins.get(version) ?? 0) - 1;
      if (count > 0) {
        pins.set(version, count);
        return Effect.void;
      }
      pins.delete(version);
      return tell(everywhere(({ thread }) => thread.call("unhold", version)));
    };

    const generate: Generator["generate"] = Effect.fnUntraced(function* (request) {
      let home = homes.get(request.sequence);
      if (home === undefined) {
        const lane = lanes.reduce((least, other) => (other.load < least.load ? other : least));
        home = { lane, pin: request.pin };
        homes.set(request.sequence, home);
        lane.load++;
        if (request.pin !== null) yield* pin(request.pin);
      }
      // A view would travel with the whole buffer it looks into.
      return yield* home.lane.thread.call("generate", { ...request, append: request.append.slice() });
    });

    const release: Generator["release"] = Effect.fnUntraced(function* (sequence) {
      const home = homes.get(sequence);
      if (home === undefined) return;
      homes.delete(sequence);
      home.lane.load--;
      yield* tell(home.lane.thread.call("release", sequence));
      if (home.pin !== null) yield* unpin(home.pin);
    });

    const awaitVersion: Generator["awaitVersion"] = (version) =>
      Effect.callback((resume) => {
        const error = dead();
        if (error !== undefined) {
          resume(Effect.fail(error));
          return;
        }
        if (common() >= version) {
          resume(Effect.void);
          return;
        }
        const waiter: Waiter = { version, resume };
        waiters.add(waiter);
        return Effect.sync(() => {
          waiters.delete(waiter);
        });
      });

    const unhold = (version: Version): Effect.Effect<void> =>
      Effect.ignore(everywhere(({ thread }) => thread.call("unhold", version)));
    const acquire: Effect.Effect<Version, PolicyError> = Effect.gen(function* () {
      for (;;) {
        const version = common();
        const held = yield* everywhere(({ thread }) => thread.call("hold", version));
        if (held.every((kept) => kept)) return version;
        // A thread has gone on by two versions meanwhile; the next version common to all is newer.
        yield* Effect.forEach(
          lanes.filter((_, index) => held[index]),
          ({ thread }) => thread.call("unhold", version),
        );
      }
    });

    return {
      ports: lanes.map(({ port }) => port),
      generate,
      release,
      version: Effect.suspend(() => {
        const error = dead();
        return error === undefined ? Effect.succeed(common()) : Effect.fail(error);
      }),
      awaitVersion,
      gauges: Effect.map(
        everywhere(({ thread }) => thread.call("gauges", null)),
        mergeGauges,
      ),
      hold: Effect.acquireRelease(acquire, unhold),
      died: Effect.raceAllFirst(lanes.map(({ thread }) => thread.died)),
    };
  });

/** The policy alone, for programs without a learner. */
export const layer = (options: GeneratorOptions): Layer.Layer<Policy, PolicyError> =>
  Layer.effect(Policy, make(options));
