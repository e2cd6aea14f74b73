/**
 * The console sink for pipes and logs: one line per step and per notice, no control characters. In: records and events; out: lines that
 * a person reads and `grep` cuts.
 */
import { Effect } from "effect";
import type { StepRecord } from "../domain/Event.ts";
import { count, decimal, duration, percent } from "./format.ts";
import type { RunInfo, Sink } from "./Sink.ts";
import type { Terminal } from "./Terminal.ts";
import { noticeOf, outcomeOf } from "./View.ts";

/** `step  37/200  success 0.742  return 0.830  kept 63%  stale 1.2/3  14.2k tok/s  3.2s`; figures that a step lacks are left out. */
export const stepLine = ({ steps }: RunInfo, { step, metrics }: StepRecord): string => {
  const figure = (label: string, key: string, show: (value: number) => string): string[] => {
    const value = metrics[key];
    return value === undefined ? [] : [`${label}${show(value)}`];
  };
  const stale = metrics["staleness/mean"];
  return [
    `step ${String(step).padStart(String(steps).length)}/${steps}`,
    ...figure("success ", "train/success", decimal),
    ...figure("return ", "train/charts/avg_episode_return", decimal),
    ...figure("val ", "val-env/success", decimal),
    ...figure("kept ", "rollout/filter_kept_ratio", percent),
    ...(stale === undefined ? [] : [`stale ${stale.toFixed(1)}/${metrics["staleness/max"] ?? stale}`]),
    ...figure("", "tokens/generated_per_second", (value) => `${count(value)} tok/s`),
    ...figure("loss ", "actor/pg_loss", decimal),
    ...figure("grad ", "actor/grad_norm", decimal),
    ...figure("", "timing_s/step", (value) => duration(value * 1000)),
  ].join("  ");
};

export const make = (terminal: Pick<Terminal, "write">): Sink => {
  let run: RunInfo | null = null;
  const print = (text: string): Effect.Effect<void> => Effect.sync(() => terminal.write(`${text}\n`));
  return {
    name: "console",
    essential: false,
    open: (info) => {
      run = info;
      return print(`${info.name}: ${info.mode}, seed ${info.seed}, ${info.folder}`);
    },
    step: (record) => (run === null ? Effect.void : print(stepLine(run, record))),
    gauges: () => Effect.void,
    event: (event) => {
      const notice = noticeOf(event);
      return notice === null ? Effect.void : print(notice);
    },
    close: (outcome) => print(outcomeOf(outcome)),
  };
};
