/** The run's record of events: every event of the bus, the gauges once a second, and how the run ended, to events.jsonl. */
import { Cause, Clock, Effect, Exit, type Scope } from "effect";
import type { RunConfig } from "../../config/RunConfig.ts";
import type { Event } from "../../domain/Event.ts";
import { Bus } from "../../stage/Bus.ts";
import { keepThrough, RunFolder } from "../RunFolder.ts";
import type { EndLine, RunLine } from "./EventLine.ts";
import { SCHEMA } from "./EventLine.ts";
import * as EventLog from "./EventLog.ts";
import * as Replay from "./Replay.ts";

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

/** How an effect ended, as the record's last line. */
const endOf = (exit: Exit.Exit<unknown, unknown>, reason: string): EndLine => {
  const stopped = reason === "complete" ? null : reason;
  if (Exit.isSuccess(exit)) {
    return { _tag: "End", outcome: stopped === null ? "completed" : "stopped", message: stopped ?? "" };
  }
  if (Cause.hasInterruptsOnly(exit.cause))
    return { _tag: "End", outcome: "stopped", message: stopped ?? "interrupted" };
  const error = Cause.squash(exit.cause);
  return { _tag: "End", outcome: "failed", message: error instanceof Error ? error.message : String(error) };
};

/** Records until the scope closes. A record that cannot be opened is a warning: the run goes on without it. */
export const attach = (config: RunConfig): Effect.Effect<void, never, Bus | RunFolder | Scope.Scope> =>
  config.metrics.events
    ? Effect.catch(recording(config), (reason) =>
        Effect.logWarning(`events.jsonl is not written: ${typeof reason === "string" ? reason : reason.message}`),
      )
    : Effect.void;

const recording = Effect.fnUntraced(function* (config: RunConfig) {
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
});
