/**
 * The sinks of a run, chosen by its configuration: metrics.jsonl always, and a console: the live block on a terminal, plain lines
 * elsewhere. Enters: the bus; leaves: an effect that fails when metrics.jsonl can no longer be written, to race the run against.
 */
import { Effect } from "effect";
import type { RunConfig } from "../config/RunConfig.ts";
import { BadInput } from "../domain/Errors.ts";
import * as JsonLines from "../metrics/JsonLines.ts";
import * as LiveConsole from "../metrics/LiveConsole.ts";
import * as PlainConsole from "../metrics/PlainConsole.ts";
import type { Sink, SinkError } from "../metrics/Sink.ts";
import { attach as attachSinks } from "../metrics/Telemetry.ts";
import { stdout, type Terminal } from "../metrics/Terminal.ts";
import type { Bus } from "../stage/Bus.ts";
import type { RunFolder } from "./RunFolder.ts";

/** The console of a run, if it has one: `auto` is the live block where the terminal can redraw lines. */
export const consoleSink = (
  { console, refresh_ms: refreshMs }: RunConfig["metrics"],
  terminal: Terminal = stdout(),
): readonly Sink[] => {
  if (console === "off") return [];
  const live = console === "live" || (console === "auto" && terminal.live);
  return [live ? LiveConsole.make({ terminal, refreshMs }) : PlainConsole.make(terminal)];
};

const modeText = ({ mode, max_staleness: staleness }: RunConfig["pipeline"]): string =>
  mode === "async" ? `async, max staleness ${staleness}` : mode;

const broken = ({ sink, message }: SinkError): BadInput => new BadInput({ message: `${sink}: ${message}` });

export const attach = (config: RunConfig, folder: RunFolder, bus: Bus, from: number) =>
  attachSinks({
    bus,
    sinks: [JsonLines.make(folder.metrics), ...consoleSink(config.metrics)],
    run: {
      name: config.run.name,
      folder: folder.path,
      mode: modeText(config.pipeline),
      seed: config.run.seed,
      from,
      steps: config.trainer.total_training_steps,
    },
  }).pipe(Effect.mapError(broken), Effect.map(Effect.mapError(broken)));
