/** Records the run in events.jsonl: every event of the bus, the gauges once a second, and the end of the run. */
import { Clock, Effect, type Scope } from "effect";
import type { RunConfig } from "../../../config/RunConfig.ts";
import type { Event } from "../../../domain/Event.ts";
import { type RunOutcome, runOutcome } from "../../../domain/RunOutcome.ts";
import { Bus } from "../../../flow/Bus.ts";
import { RunFolder, truncateLogs } from "../RunFolder.ts";
import { cutToState } from "./cutToState.ts";
import type { EndLine } from "./EventLine.ts";
import * as EventLog from "./EventLog.ts";
import * as Replay from "./Replay.ts";
import { runLine } from "./RunLine.ts";

/** The shortest time between two lines of gauges, milliseconds. */
const GAUGES_MS = 950;

const endLine = (outcome: RunOutcome): EndLine => {
  switch (outcome._tag) {
    case "Completed":
      return { _tag: "End", outcome: "completed", message: "" };
    case "Stopped":
      return { _tag: "End", outcome: "stopped", message: outcome.reason };
    case "Failed":
      return { _tag: "End", outcome: "failed", message: outcome.message };
  }
};

/**
 * Records until the scope closes. A resumed run first cuts the file back to its checkpoint. If the record cannot be opened, it
 * logs a warning and the run goes on without it.
 */
export const attach = (config: RunConfig): Effect.Effect<void, never, Bus | RunFolder | Scope.Scope> =>
  Effect.catch(Effect.andThen(cutBack, config.metrics.events ? recording(config) : Effect.void), (reason) =>
    Effect.logWarning(`events.jsonl is not written: ${typeof reason === "string" ? reason : reason.message}`),
  );

/**
 * Cuts off the lines that the resumed run repeats, even if it is not recorded: the page would show them beside the new steps.
 */
const cutBack = Effect.gen(function* () {
  const { events, eventsIndex } = yield* RunFolder;
  const state = (yield* Bus).state();
  if (state.checkpoint === null) return;
  yield* truncateLogs([events, eventsIndex], state.step);
  yield* cutToState(events, eventsIndex, state);
});

const recording = Effect.fnUntraced(function* (config: RunConfig) {
  const bus = yield* Bus;
  const folder = yield* RunFolder;
  const clock = yield* Clock.Clock;
  const now = () => clock.currentTimeMillisUnsafe();
  const progress = bus.state();
  const { checkpoint, step } = progress;
  const from = { ...Replay.initial, progress };
  const log = yield* EventLog.make({ path: folder.events, indexPath: folder.eventsIndex, from });
  log.add(runLine(config), step, now());
  if (checkpoint !== null) log.add({ _tag: "Resumed", step }, step, now());
  const stepOf = (event: Event): number => (event._tag === "StepClosed" ? event.step : bus.state().step + 1);
  bus.onEvent((event) => log.add(event, stepOf(event), now()));
  let lastGaugesMs = Number.NEGATIVE_INFINITY;
  bus.onSample((sample) => {
    if (sample.elapsedMs - lastGaugesMs < GAUGES_MS) return;
    lastGaugesMs = sample.elapsedMs;
    log.add({ _tag: "Gauges", sample }, bus.state().step + 1, now());
  });
  bus.addFlush(log.flushed);
  yield* Effect.addFinalizer((exit) =>
    Effect.sync(() => log.add(endLine(runOutcome(exit, bus.state().reason)), bus.state().step, now())),
  );
});
