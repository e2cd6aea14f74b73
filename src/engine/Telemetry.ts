/**
 * The sinks of a run, chosen by its configuration: metrics.jsonl always, a console (the live block on a terminal, plain lines elsewhere), and
 * those that `metrics.sinks` names. Users' own sinks come beside them.
 */
import process from "node:process";
import { Clock, Context, Effect } from "effect";
import { isFixedLag } from "../config/fixedLag.ts";
import type { RunConfig } from "../config/RunConfig.ts";
import { BadInput } from "../domain/Errors.ts";
import { Bus } from "../flow/Bus.ts";
import { RunFolder } from "../observe/record/RunFolder.ts";
import * as LiveConsole from "../observe/sinks/LiveConsole.ts";
import * as JsonLines from "../observe/sinks/MetricsFile.ts";
import * as PlainConsole from "../observe/sinks/PlainConsole.ts";
import * as Chosen from "../observe/sinks/RunSinks.ts";
import type { RunInfo, Sink, SinkError } from "../observe/sinks/Sink.ts";
import { attach as attachSinks } from "../observe/sinks/Telemetry.ts";
import { stdout, type Terminal } from "../observe/sinks/Terminal.ts";
import { Config } from "./RunContext.ts";

/** The console of a run file: the live block if the terminal can redraw lines, plain lines elsewhere, or none. */
export const consoleSink = (
  { console, refresh_ms: refreshMs, sinks }: Pick<RunConfig["metrics"], "console" | "refresh_ms" | "sinks">,
  terminal: Terminal = stdout(),
): readonly Sink[] => {
  if (console === "off" || !sinks.includes("console")) return [];
  const live = console === "live" || (console === "auto" && terminal.live);
  return [live ? LiveConsole.make({ terminal, refreshMs }) : PlainConsole.make(terminal)];
};

const modeText = (config: RunConfig): string => {
  const { max_staleness: staleness, mode } = config.pipeline;
  if (mode !== "async") return mode;
  return `async, ${isFixedLag(config) ? "fixed lag" : "max staleness"} ${staleness}`;
};

const runInfo = (config: RunConfig, at: Pick<RunInfo, "alarms" | "folder" | "from" | "started">): RunInfo => ({
  ...at,
  name: config.run.name,
  mode: modeText(config),
  seed: config.run.seed,
  steps: config.trainer.total_training_steps,
  window: {
    groups: config.es_manager.train.env_groups,
    groupSize: config.es_manager.train.group_size,
    order: config.pipeline.window_order,
  },
  config: JSON.parse(JSON.stringify(config)) as Readonly<Record<string, unknown>>,
});

/** Sinks of the user's own, none unless provided. */
export const Sinks = Context.Reference<readonly Sink[]>("millrace/engine/Sinks", { defaultValue: () => [] });

const badInput = ({ sink, message }: SinkError): BadInput => new BadInput({ message: `${sink}: ${message}` });

/** Standard output is the console's, and may be a log that someone reads line by line. */
const printAddress = (url: string): void => void process.stderr.write(`prometheus: ${url}\n`);

export interface AttachedSinks {
  /** Fails when metrics.jsonl can no longer be written, for the run to be raced against. */
  readonly broken: Effect.Effect<never, BadInput>;
  /** For the run under its tracer. */
  readonly traced: Pick<Chosen.RunSinks, "tracer" | "tracedGroups">;
}

/** Attaches the sinks for the life of the scope. */
export const attach = Effect.gen(function* () {
  const config = yield* Config;
  const bus = yield* Bus;
  const folder = yield* RunFolder;
  const started = yield* Clock.currentTimeMillis;
  const { alarms, step: from } = bus.state();
  const run = runInfo(config, { folder: folder.path, from, started, alarms: alarms.standing });
  const chosen = yield* Chosen.make({
    metrics: config.metrics,
    run,
    variables: process.env,
    onListening: printAddress,
  });
  const sinks = [JsonLines.make(folder.metrics), ...consoleSink(config.metrics), ...chosen.sinks, ...(yield* Sinks)];
  const failed = yield* attachSinks({ bus, sinks, run });
  const attached: AttachedSinks = { broken: Effect.mapError(failed, badInput), traced: chosen };
  return attached;
}).pipe(Effect.mapError(badInput));
