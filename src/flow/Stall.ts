/**
 * The stall report: when no event came for long, one line per stage says what it waits for; a longer silence ends the run. Both texts are
 * pure functions of the gauges and of admission's decision. A silence ends with an event, a sampled token or an item that a stage passed on, and
 * is reported once.
 */
import { Clock, DateTime, Effect, Latch } from "effect";
import type { Event } from "../domain/Event.ts";
import { monotonicMillisOf } from "../domain/Instant.ts";
import { type ServerChange, unavailable } from "../domain/Server.ts";
import type { Decision } from "./admission/Admission.ts";
import { Admitter } from "./admission/Admitter.ts";
import { Bus } from "./Bus.ts";
import type { StageSample } from "./Gauge.ts";
import { Servers } from "./Servers.ts";
import { StageRegistry } from "./StageRegistry.ts";

export interface StageWait {
  readonly stage: string;
  readonly waitsFor: string;
}

/** Says what each stage waits for; flow stages come in the order they are connected. */
export const report = (stages: readonly StageSample[], decision: Decision): readonly StageWait[] => {
  const flows = stages.filter(({ kind }) => kind === "flow");
  const services = stages.filter(({ kind }) => kind === "service");
  return [
    { stage: "admission", waitsFor: admissionWaitsFor(decision) },
    ...flows.map((stage, i) => ({ stage: stage.name, waitsFor: flowWaitsFor(stage, flows[i - 1], flows[i + 1]) })),
    ...services.map((stage) => ({ stage: stage.name, waitsFor: serviceWaitsFor(stage) })),
  ];
};

const admissionWaitsFor = (decision: Decision): string => {
  switch (decision._tag) {
    case "Admit":
      return `room in the first inbox (window ${decision.window} is open)`;
    case "Wait":
      return `${decision.consumed === 0 ? "" : `${decision.consumed} consumed windows and `}weights version ${decision.version}, to admit groups of window ${decision.window}`;
    case "Verdict":
      return `the filter's verdict on window ${decision.window}, which may ask for more groups`;
    case "Paused":
      return "someone to let it go on: it is paused";
    case "Closed":
      return `nothing: it is ${decision.reason}`;
  }
};

const slots = (n: number, concurrency: number): string => `${n} of ${concurrency} slot${concurrency === 1 ? "" : "s"}`;

const flowWaitsFor = (stage: StageSample, before: StageSample | undefined, after: StageSample | undefined): string => {
  if (stage.blocked > 0 && after !== undefined)
    return `room in ${after.name}'s inbox (${after.queue} of ${after.capacity}), with ${slots(stage.blocked, stage.concurrency)} blocked`;
  if (stage.running > 0)
    return `its own work on ${slots(stage.running, stage.concurrency)} (${stage.queue} in its inbox)`;
  if (stage.queue > 0) return `a free slot, with ${stage.queue} in its inbox`;
  return `items from ${before?.name ?? "admission"}`;
};

const serviceWaitsFor = (stage: StageSample): string =>
  stage.running > 0
    ? `answers to ${slots(stage.running, stage.concurrency)} (${stage.queue} callers wait)`
    : stage.queue > 0
      ? `a free slot, with ${stage.queue} callers waiting`
      : "calls";

const serverLine = ({ name, role, state }: ServerChange): string => {
  switch (state._tag) {
    case "Up":
      return `${role} ${name} answers`;
    case "Retrying":
      return `${role} ${name} does not answer (${state.why}); ${state.attempt} attempt${state.attempt === 1 ? "" : "s"} so far`;
    case "Lost":
      return `${role} ${name} is lost (${state.why})`;
    case "ShutOut":
      return `${role} ${name} is shut out (${state.why})`;
  }
};

/** The stage that holds work, furthest down the line, and what it waits for, as the middle of a sentence. */
const blame = (stages: readonly StageSample[], decision: Decision): string => {
  const holder = stages.filter(({ kind, running }) => kind === "flow" && running > 0).at(-1);
  const services = stages
    .filter(({ kind, queue, running }) => kind === "service" && running + queue > 0)
    .map((service) => `${service.name}, which waits for ${serviceWaitsFor(service)}`);
  if (holder?.name === "learn") return `learn waits for ${flowWaitsFor(holder, undefined, undefined)}`;
  if (services.length > 0) return `${holder?.name ?? "a validation"} waits for ${services.join(", and for ")}`;
  // A step that hangs holds none of the pool's slots, because spare threads take its place.
  if (holder?.name === "rollout") {
    return `rollout waits for environments or agents on ${slots(holder.running, holder.concurrency)}; no generator owes it a reply`;
  }
  if (holder !== undefined) return `${holder.name} waits for ${flowWaitsFor(holder, undefined, undefined)}`;
  return `admission waits for ${admissionWaitsFor(decision)}`;
};

/** Says in one sentence who waits for whom in a run in which nothing has happened for `silentMs`, since `since` (Unix milliseconds). */
export const sentence = (
  { silentMs, since }: { readonly silentMs: number; readonly since: number },
  stages: readonly StageSample[],
  decision: Decision,
  servers: readonly ServerChange[] = [],
): string => {
  const silence = `nothing has happened for ${Math.round(silentMs / 100) / 10} s, since ${DateTime.formatIso(DateTime.makeUnsafe(since))}`;
  return [`${silence}: ${blame(stages, decision)}`, ...unavailable(servers).map(serverLine)].join("; ");
};

/** Work that the generators have done since their start. */
export interface GeneratorProgress {
  readonly sampledTokens: number;
  readonly decodeSteps?: number;
}

/** Reads the generators' work; it may fail or never answer. */
export type Generated = Effect.Effect<GeneratorProgress, unknown>;

/** Generators that do not answer for so many milliseconds count as silent. */
const ANSWER_MS = 1_000;
/** Times that progress is read in the shortest silence to report: what is done between two readings counts as done at the second. */
const READINGS = 4;

/** The silence of a run: how long there was neither an event that counts nor progress. */
const makeSilence = Effect.fnUntraced(function* (generated: Generated, isActivity: (event: Event) => boolean) {
  const bus = yield* Bus;
  const registry = yield* StageRegistry;
  const clock = yield* Clock.Clock;
  const now = (): number => monotonicMillisOf(clock);
  const eventArrived = Latch.makeUnsafe(false);
  let lastActivity = now();
  let lastProgress = 0;
  const end = (): void => {
    lastActivity = now();
  };
  bus.onEvent((event) => {
    if (!isActivity(event)) return;
    end();
    eventArrived.openUnsafe();
  });
  const generatorProgress = generated.pipe(
    Effect.map(({ decodeSteps = 0, sampledTokens }) => decodeSteps + sampledTokens),
    Effect.timeoutOrElse({ duration: ANSWER_MS, orElse: () => Effect.succeed(0) }),
    Effect.catch(() => Effect.succeed(0)),
  );
  const check = Effect.fnUntraced(function* (silentMs: number) {
    const left = silentMs - (now() - lastActivity);
    if (left > 0) yield* Effect.sleep(Math.min(left, silentMs / READINGS));
    const generatedWork = yield* generatorProgress;
    const stages = registry.stages().map((stage) => stage.sample());
    const progress = stages.reduce((sum, stage) => sum + stage.items, generatedWork);
    if (progress > lastProgress) {
      lastProgress = progress;
      end();
    }
    // An event may have come while the generators were asked.
    const elapsed = now() - lastActivity;
    return elapsed < silentMs ? null : { silentMs: elapsed, stages };
  });
  return {
    /** Suspends until the silence has lasted `silentMs` milliseconds; returns its length and the stages. */
    reached: (silentMs: number) =>
      Effect.repeat(check(silentMs), { until: (silence) => silence !== null }).pipe(Effect.map((silence) => silence!)),
    /** Begins the silence anew. */
    end,
    eventArrived,
  };
});

/**
 * Emits `Stalled` once after each silence of `silentMs` milliseconds; runs until interrupted. A sampled token or a played step breaks the
 * silence too, because one reply of a large model may take longer than that.
 */
export const watch = (
  silentMs: number,
  generated: Generated = Effect.succeed({ sampledTokens: 0 }),
): Effect.Effect<never, never, Bus | StageRegistry | Admitter> =>
  Effect.gen(function* () {
    const bus = yield* Bus;
    const admitter = yield* Admitter;
    const servers = yield* Servers;
    const silence = yield* makeSilence(generated, ({ _tag }) => _tag !== "Stalled");
    const tell = Effect.gen(function* () {
      const reached = yield* silence.reached(silentMs);
      const stages = report(reached.stages, admitter.decision()).map(
        ({ stage, waitsFor }) => `${stage} waits for ${waitsFor}`,
      );
      const lines = [...unavailable(servers.servers()).map(serverLine), ...stages];
      silence.eventArrived.closeUnsafe();
      yield* bus.emit({ _tag: "Stalled", silentMs: reached.silentMs, lines });
      yield* silence.eventArrived.await;
    });
    return yield* Effect.forever(tell);
  });

/** Events that do not move a run: its own reports, attempts at a server that does not answer, and moves of the autotuner. */
const movesNothing = (event: Event): boolean =>
  event._tag === "Stalled" ||
  (event._tag === "ServerChanged" && event.state._tag === "Retrying") ||
  (event._tag === "Controlled" && event.by === "autotune");

/** True if only programs outside hold work: episodes are in play, and neither services nor other stages work. */
const waitsForOutside = (stages: readonly StageSample[]): boolean => {
  const working = stages.filter(({ queue, running, kind }) => running > 0 || (kind === "service" && queue > 0));
  return working.length > 0 && working.every(({ name }) => name === "rollout" || name === "close");
};

/**
 * Emits `Stopped` with the reason `stalled` after a silence of `silentMs` milliseconds (0: never). A pause by hand is no stall, nor is the
 * wait for agents that open episodes from outside where `hasOutsideAgents`.
 */
export const abort = (
  silentMs: number,
  generated: Generated = Effect.succeed({ sampledTokens: 0 }),
  hasOutsideAgents = false,
): Effect.Effect<void, never, Bus | StageRegistry | Admitter> =>
  Effect.gen(function* () {
    if (silentMs === 0) return;
    const bus = yield* Bus;
    const admitter = yield* Admitter;
    const servers = yield* Servers;
    const silence = yield* makeSilence(generated, (event) => !movesNothing(event));
    for (;;) {
      const reached = yield* silence.reached(silentMs);
      if (bus.state().paused || (hasOutsideAgents && waitsForOutside(reached.stages))) {
        silence.end();
        continue;
      }
      const since = (yield* Clock.currentTimeMillis) - reached.silentMs;
      const message = sentence(
        { silentMs: reached.silentMs, since },
        reached.stages,
        admitter.decision(),
        servers.servers(),
      );
      return yield* bus.emit({ _tag: "Stopped", reason: "stalled", steps: 0, message });
    }
  });
