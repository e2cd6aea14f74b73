/**
 * Measures what the spans of one window cost the main thread: groups of the quickstart's shape in which nothing else
 * happens, under each tracer.
 */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Effect, type Scope, type Tracer } from "effect";
import { groupSpanned, inSpan, spanned, TracedGroups, tracing } from "../src/flow/spanned.ts";
import * as Otlp from "../src/observe/sinks/otlp/Otlp.ts";
import * as Trace from "../src/observe/sinks/trace/Trace.ts";
import { run } from "../test/observe/sinks/fixtures.ts";
import { type Samples, samplesOf } from "./samples.ts";

const GROUPS = 16;
const MEMBERS = 8;
const TURNS = 3;
export const SPANS = GROUPS * (1 + MEMBERS * TURNS * 3);

const WINDOWS = 20;
const REPETITIONS = 5;

/** A reply's attributes, as `ServiceStages` gives them. */
const replied = () => ({ tokens: 12, versions: [7], version_tokens: [12] });

const turn = Effect.gen(function* () {
  yield* spanned(Effect.succeed(0), "generate", { sequence: 17, max: 40 }, replied);
  yield* spanned(Effect.succeed(0), "step", { tag: "FrozenLake" });
});

const member = Effect.gen(function* () {
  const traced = yield* tracing;
  for (let at = 1; at <= TURNS; at++) yield* traced ? inSpan(turn, "turn", { member: 1, turn: at }) : turn;
});

const group = Effect.forEach(Array.from({ length: MEMBERS }), () => member, { discard: true });

const windowOf = (index: number): Effect.Effect<void> =>
  Effect.forEach(
    Array.from({ length: GROUPS }, (_, at) => index * GROUPS + at),
    (number) => groupSpanned(group, number, { tag: "FrozenLake", seed: number }),
    { discard: true },
  );

/** A tracer for as long as the scope lives; what it still holds is sent or written when that closes. */
type TracerSource = Effect.Effect<Tracer.Tracer | null, never, Scope.Scope>;

/** CPU milliseconds of this process for each window, sending or writing the spans included. */
const costUnder = (makeTracer: TracerSource, share: number): Effect.Effect<number> =>
  Effect.gen(function* () {
    const before = process.cpuUsage();
    const playing = Effect.gen(function* () {
      const tracer = yield* makeTracer;
      for (let index = 0; index < WINDOWS; index++) {
        const window = Effect.provideService(windowOf(index), TracedGroups, share);
        yield* tracer === null ? window : Effect.withTracer(window, tracer);
        // A run lets its exporter and its sinks work between two windows.
        yield* Effect.promise(() => new Promise(setImmediate));
      }
    });
    yield* Effect.scoped(playing);
    const { system, user } = process.cpuUsage(before);
    return (user + system) / 1_000 / WINDOWS;
  });

const toCollector = (endpoint: string): TracerSource =>
  Otlp.tracer({ endpoint, resource: { serviceName: "bench", serviceVersion: "0", attributes: {} } });

const toFile: TracerSource = Effect.gen(function* () {
  const folder = mkdtempSync(join(tmpdir(), "millrace-bench-"));
  const { sink, tracer } = Trace.make();
  yield* Effect.acquireRelease(Effect.orDie(sink.open({ ...run, folder })), () =>
    Effect.andThen(
      Effect.orDie(sink.close({ _tag: "Completed" })),
      Effect.sync(() => rmSync(folder, { recursive: true })),
    ),
  );
  return tracer();
});

export interface SpanCosts {
  readonly none: Samples;
  /** All groups, for a collector. */
  readonly all: Samples;
  /** The usual share of them. */
  readonly usual: Samples;
  /** All, for trace.json. */
  readonly file: Samples;
}

/** The first of each is for the compiler, and does not count. */
const repeated = (makeTracer: TracerSource, share: number) =>
  Effect.map(Effect.all(Array.from({ length: 1 + REPETITIONS }, () => costUnder(makeTracer, share))), ([, ...costs]) =>
    samplesOf(costs),
  );

export const spanCosts = (endpoint: string, share: number): Promise<SpanCosts> =>
  Effect.all({
    none: repeated(Effect.succeed(null), 1),
    all: repeated(toCollector(endpoint), 1),
    usual: repeated(toCollector(endpoint), share),
    file: repeated(toFile, 1),
  }).pipe(Effect.runPromise);
