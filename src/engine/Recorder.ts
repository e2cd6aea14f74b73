/** The run's record of events: every event of the bus, the gauges once a second, and how the run ended, to events.jsonl. */
import { Clock, Effect, type Exit, type Scope } from "effect";
import type { RunConfig } from "../config/RunConfig.ts";
import type { Event } from "../domain/Event.ts";
import { outcomeOf } from "../metrics/Telemetry.ts";
import type { EndLine, RunLine } from "../record/events/EventLine.ts";
import { SCHEMA } from "../record/events/EventLine.ts";
import * as EventLog from "../record/events/EventLog.ts";
import * as Replay from "../record/events/Replay.ts";
import { keepThrough, RunFolder } from "../record/RunFolder.ts";
import { Bus } from "../stage/Bus.ts";
import { Config } from "./Config.ts";

/** Least milliseconds between two lines of gauges. */
const GAUGES_MS = 950;

const runLine = ({ es_manager, pipeline, run, trainer }: RunConfig): RunLine => ({
  _tag: "Run",
  schema: SCHEMA,
  name: run.name,
  mode: pipeline.mode,
  maxStaleness: pipeline.max_staleness,
  seed: run.seed,
  steps: trainer.total_training_steps,
  groups: es_manager.train.env_groups,
  groupSize: es_manager.train.group_size,
});

const endOf = (exit: Exit.Exit<unknown, unknown>, reason: string): EndLine => {
  const outcome = outcomeOf(exit, reason);
  switch (outcome._tag) {
    case "Completed":
      return { _tag: "End", outcome: "completed", message: "" };
    case "Stopped":
      return { _tag: "End", outcome: "stopped", message: outcome.reason };
    case "Failed":
      return { _tag: "End", outcome: "failed", message: outcome.message };
  }
};

/** Records until the scope closes. A record that cannot be opened is a warning: the run goes on without it. */
export const attach: Effect.Effect<void, never, Bus | Config | RunFolder | Scope.Scope> = Effect.gen(function* () {
  const config = yield* Config;
  if (!config.metrics.events) return;
  const bus = yield* Bus;
  const folder = yield* RunFolder;
  const clock = yield* Clock.Clock;
  const now = () => clock.currentTimeMillisUnsafe();
  const { checkpoint, position, step } = bus.state();
  // What the steps after the checkpoint wrote is made again, and the log begins behind the rest.
  if (checkpoint !== null) yield* keepThrough(folder, step);
  const from = { ...Replay.initial, step, version: position.version, adopted: position.adopted };
  const log = yield* EventLog.make({ path: folder.events, indexPath: folder.eventsIndex, from });
  log.add(runLine(config), step, now());
  if (checkpoint !== null) log.add({ _tag: "Resumed", step }, step, now());
  const stepOf = (event: Event): number => (event._tag === "StepClosed" ? event.step : bus.state().step + 1);
  bus.onEvent((event) => log.add(event, stepOf(event), now()));
  let gauged = Number.NEGATIVE_INFINITY;
  bus.onSample((sample) => {
    if (sample.elapsedMs - gauged < GAUGES_MS) return;
    gauged = sample.elapsedMs;
    log.add({ _tag: "Gauges", sample }, bus.state().step + 1, now());
  });
  bus.settle(log.settled);
  yield* Effect.addFinalizer((exit) =>
    Effect.sync(() => log.add(endOf(exit, bus.state().reason), bus.state().step, now())),
  );
}).pipe(
  Effect.catch((reason) =>
    Effect.logWarning(`events.jsonl is not written: ${typeof reason === "string" ? reason : reason.message}`),
  ),
);
