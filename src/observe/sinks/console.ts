/** The console of a run file: the live block if the terminal can redraw lines, plain lines elsewhere, or none. */
import type { RunConfig } from "../../config/RunConfig.ts";
import * as LiveConsole from "./LiveConsole.ts";
import * as PlainConsole from "./PlainConsole.ts";
import type { Sink } from "./Sink.ts";
import { stdout, type Terminal } from "./Terminal.ts";

export const consoleSink = (
  { console, refresh_ms: refreshMs, sinks }: Pick<RunConfig["metrics"], "console" | "refresh_ms" | "sinks">,
  terminal: Terminal = stdout(),
): readonly Sink[] => {
  if (console === "off" || !sinks.includes("console")) return [];
  const live = console === "live" || (console === "auto" && terminal.live);
  return [live ? LiveConsole.make({ terminal, refreshMs }) : PlainConsole.make(terminal)];
};
