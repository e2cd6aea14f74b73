/**
 * The stall report: when no event came for long, one line per stage says what it waits for. The report is a pure function of the gauges and
 * of admission's decision; the watch owns the only timer, which every event resets, and reports a silence once.
 */
import { Clock, Effect, Latch } from "effect";
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
      return `${decision.consumed} consumed windows and weights version ${decision.version}, to open window ${decision.window}`;
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

/** Work that the generators have done since their start. */
export interface GeneratorProgress {
  readonly sampledTokens: number;
  readonly decodeSteps?: number;
}

/** Generators that do not answer for so many milliseconds count as silent. */
const ANSWER_MS = 1_000;

/**
 * Emits `Stalled` once after each silence of `silentMs` milliseconds; runs until interrupted. A sampled token or a played step breaks the
 * silence too, because one reply of a large model may take longer than that.
 */
export const watch = (
  silentMs: number,
  generated: Effect.Effect<GeneratorProgress, unknown> = Effect.succeed({ sampledTokens: 0 }),
): Effect.Effect<never, never, Bus | StageRegistry | Admitter> =>
  Effect.gen(function* () {
    const bus = yield* Bus;
    const registry = yield* StageRegistry;
    const admitter = yield* Admitter;
    const servers = yield* Servers;
    const clock = yield* Clock.Clock;
    const now = (): number => monotonicMillisOf(clock);
    const eventArrived = Latch.makeUnsafe(false);
    let lastActivity = now();
    let lastProgress = 0;
    bus.onEvent((event) => {
      if (event._tag === "Stalled") return;
      lastActivity = now();
      eventArrived.openUnsafe();
    });
    const generatorProgress = generated.pipe(
      Effect.map(({ decodeSteps = 0, sampledTokens }) => decodeSteps + sampledTokens),
      Effect.timeoutOrElse({ duration: ANSWER_MS, orElse: () => Effect.succeed(0) }),
      Effect.catch(() => Effect.succeed(0)),
    );
    const check = Effect.gen(function* () {
      const silent = now() - lastActivity;
      if (silent < silentMs) return yield* Effect.sleep(silentMs - silent);
      const generatedWork = yield* generatorProgress;
      const samples = registry.stages().map((stage) => stage.sample());
      const progress = samples.reduce((sum, stage) => sum + stage.items, generatedWork);
      if (progress > lastProgress) {
        lastProgress = progress;
        lastActivity = now();
      }
      // An event may have come while the generators were asked.
      if (now() - lastActivity < silentMs) return;
      const stages = report(samples, admitter.decision()).map(
        ({ stage, waitsFor }) => `${stage} waits for ${waitsFor}`,
      );
      const lines = [...unavailable(servers.servers()).map(serverLine), ...stages];
      eventArrived.closeUnsafe();
      yield* bus.emit({ _tag: "Stalled", silentMs: now() - lastActivity, lines });
      yield* eventArrived.await;
    });
    return yield* Effect.forever(check);
  });
