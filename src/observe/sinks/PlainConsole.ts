/** The console sink for pipes and logs: one line per step, per notice and per half minute of a long window, without control characters. */
import { Effect } from "effect";
import { titleLine } from "../../domain/alarms/text.ts";
import type { Event, StepRecord } from "../../domain/Event.ts";
import { episodes, type Split } from "../../domain/metrics/episodes.ts";
import { filter } from "../../domain/metrics/filter.ts";
import { learner } from "../../domain/metrics/learner.ts";
import type { Metric } from "../../domain/metrics/Metric.ts";
import { valueIn } from "../../domain/metrics/Metrics.ts";
import { staleness, timing, tokens } from "../../domain/metrics/run.ts";
import { count, decimal, duration, percent } from "./format.ts";
import { once, type RunInfo, type Sink, type SinkError, type Update } from "./Sink.ts";
import { checkUsable, type Terminal } from "./Terminal.ts";
import { failedShare, initialView, noticeText, outcomeText, updateView, type View } from "./View.ts";
import { progressText, stepOf, windowMs } from "./WindowProgress.ts";

/** Groups that fail for one reason and are printed; the share of failed episodes on the lines of the steps counts the others. */
const MOST_FAILURES = 3;

/** Milliseconds after which a silent window prints its progress, and the interval of such lines. */
const PROGRESS_MS = 30_000;

/** `step  37/200  success 0.742  return 0.830  kept 63%  stale 1.2/3  14.2k tok/s  3.2s`; figures that a step lacks are left out. */
export const stepLine = ({ steps }: RunInfo, { step, metrics }: StepRecord): string => {
  const figure = (label: string, metric: Metric, show: (value: number) => string): string[] => {
    const value = valueIn(metrics, metric);
    return value === undefined ? [] : [`${label}${show(value)}`];
  };
  const failures = (label: string, split: Split): string[] => {
    const share = failedShare(metrics, split);
    return share === null ? [] : [`${label}${share}`];
  };
  const stale = valueIn(metrics, staleness.mean);
  const generated = valueIn(metrics, tokens.generated) ?? 0;
  // The last windows of a run were played during the steps before: nothing is generated while they are trained on.
  const speed = generated > 0 ? [`${count(generated)} tok/s`] : [];
  return [
    `step ${String(step).padStart(String(steps).length)}/${steps}`,
    ...figure("success ", episodes.success.of({ split: "train" }), decimal),
    ...failures("failed ", "train"),
    ...figure("return ", episodes.return.of({ split: "train" }), decimal),
    ...figure("val ", episodes.success.of({ split: "val-env" }), decimal),
    ...failures("val failed ", "val-env"),
    ...figure("kept ", filter.keptRatio, percent),
    ...(stale === undefined ? [] : [`stale ${stale.toFixed(1)}/${valueIn(metrics, staleness.max) ?? stale}`]),
    ...speed,
    ...figure("loss ", learner.pgLoss, decimal),
    ...figure("grad ", learner.gradNorm, decimal),
    ...figure("", timing.step, (value) => duration(value * 1000)),
  ].join("  ");
};

export const make = (terminal: Pick<Terminal, "write" | "broken">): Sink => {
  let view: View | null = null;
  /** The age of the window when its progress was last printed, milliseconds. */
  let printedMs = 0;
  /** Failed groups by reason. */
  const failures = new Map<string, number>();
  /** The line of an event; null for one that is too frequent. */
  const lineOf = (event: Event): string | null => {
    const line = noticeText(event);
    if (event._tag !== "Finished" || line === null) return line;
    const reason = event.reason ?? "";
    const count = (failures.get(reason) ?? 0) + 1;
    failures.set(reason, count);
    if (count > MOST_FAILURES) return null;
    return count < MOST_FAILURES
      ? line
      : `${line}\n  later ones are counted in the share of failed episodes beside success`;
  };
  const follow = (next: Update): void => {
    if (view !== null) view = updateView(view, next);
  };
  const print = (text: string): Effect.Effect<void, SinkError> =>
    Effect.andThen(
      checkUsable(terminal),
      Effect.sync(() => terminal.write(`${text}\n`)),
    );
  return {
    name: "console",
    essential: false,
    feeding: { retry: once },
    open: (run) => {
      view = initialView(run);
      return print(`${run.name}: ${run.mode}, seed ${run.seed}, ${run.folder}`);
    },
    step: (record) => {
      follow({ _tag: "Step", record });
      printedMs = 0;
      return view === null ? Effect.void : print(stepLine(view.run, record));
    },
    gauges: (sample) => {
      follow({ _tag: "Sample", sample });
      if (view === null || windowMs(view.window) - printedMs <= PROGRESS_MS) return Effect.void;
      printedMs = windowMs(view.window);
      return print(`step ${stepOf(view.window)}/${view.run.steps}: ${progressText(view.window)}`);
    },
    event: (event) => {
      follow({ _tag: "Event", event });
      const line = lineOf(event);
      return line === null ? Effect.void : print(line);
    },
    close: (outcome) =>
      print([...(view?.alarms ?? []).map((alarm) => `warning: ${titleLine(alarm)}`), outcomeText(outcome)].join("\n")),
  };
};
