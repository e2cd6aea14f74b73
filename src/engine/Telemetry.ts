/**
 * The sinks of a run, chosen by its configuration: metrics.jsonl always, and a console: the live block on a terminal, plain lines
 * elsewhere. Users' own sinks come beside them.
 */
import { Clock, Context, Effect } from "effect";
import type { RunConfig } from "../config/RunConfig.ts";
import { BadInput } from "../domain/Errors.ts";
import * as JsonLines from "../metrics/JsonLines.ts";
import * as LiveConsole from "../metrics/LiveConsole.ts";
import type { Streams } from "../metrics/observable.ts";
import * as PlainConsole from "../metrics/PlainConsole.ts";
import type { Sink, SinkError } from "../metrics/Sink.ts";
import { attach as attachSinks } from "../metrics/Telemetry.ts";
import { stdout, type Terminal } from "../metrics/Terminal.ts";
import { RunFolder } from "../record/RunFolder.ts";
import { Bus } from "../stage/Bus.ts";
import { Config } from "./Config.ts";

/** Sinks of the user's own, none unless provided. */
export const Sinks = Context.Reference<readonly Sink[]>("millrace/engine/Sinks", { defaultValue: () => [] });

/** The console of a run, if it has one: `auto` is the live block where the terminal can redraw lines. */
export const consoleSink = (
  { console, refresh_ms: refreshMs }: Pick<RunConfig["metrics"], "console" | "refresh_ms">,
  terminal: Terminal = stdout(),
): readonly Sink[] => {
  if (console === "off") return [];
  const live = console === "live" || (console === "auto" && terminal.live);
  return [live ? LiveConsole.make({ terminal, refreshMs }) : PlainConsole.make(terminal)];
};

const modeText = ({ mode, max_staleness: staleness }: RunConfig["pipeline"]): string =>
  mode === "async" ? `async, max staleness ${staleness}` : mode;

const broken = ({ sink, message }: SinkError): BadInput => new BadInput({ message: `${sink}: ${message}` });

/** Attaches the sinks; the result fails when metrics.jsonl can no longer be written, for the run to be raced against. */
export const attach = (streams: Streams) =>
  Effect.gen(function* () {
    const config = yield* Config;
    const bus = yield* Bus;
    const folder = yield* RunFolder;
    const sinks = [JsonLines.make(folder.metrics), ...consoleSink(config.metrics), ...(yield* Sinks)];
    const run = {
      name: config.run.name,
      folder: folder.path,
      mode: modeText(config.pipeline),
      seed: config.run.seed,
      from: bus.state().step,
      steps: config.trainer.total_training_steps,
      started: yield* Clock.currentTimeMillis,
      config: JSON.parse(JSON.stringify(config)) as Readonly<Record<string, unknown>>,
    };
    return yield* attachSinks({ bus, streams, sinks, run });
  }).pipe(Effect.mapError(broken), Effect.map(Effect.mapError(broken)));
