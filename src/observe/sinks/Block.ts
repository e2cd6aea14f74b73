/**
 * The live status block of a view as lines of styled text, none wider than the terminal. Pure. The bars divide each stage's slot-time of the last seconds into busy, blocked (done, no room downstream) and starved.
 */

import { sentencesOf, titleLine } from "../../domain/alarms/text.ts";
import { episodes } from "../../domain/metrics/episodes.ts";
import { filter } from "../../domain/metrics/filter.ts";
import { learner } from "../../domain/metrics/learner.ts";
import type { Metric } from "../../domain/metrics/Metric.ts";
import { valueIn } from "../../domain/metrics/Metrics.ts";
import { staleness } from "../../domain/metrics/run.ts";
import type { StageSample } from "../../flow/Gauge.ts";
import * as Gauge from "../../flow/Gauge.ts";
import { cells, count, decimal, duration, percent, sparkline, wrapped } from "./format.ts";
import { elapsedMs, failedShare, leftMs, outcomeText, tokensPerSecond, type View } from "./View.ts";
import { progressText, stepOf, windowMs } from "./WindowProgress.ts";

export type Style = "plain" | "strong" | "dim" | "good" | "warn" | "bad" | "accent";

/** A run of text in one style. Every character is one column wide. */
export interface Segment {
  readonly text: string;
  readonly style: Style;
}
export type Line = readonly Segment[];

export interface BlockFormat {
  readonly columns: number;
  readonly unicode: boolean;
}

const glyphs = {
  unicode: { busy: "█", blocked: "▒", starved: "·", done: "━", todo: "─", between: "·" },
  ascii: { busy: "#", blocked: "=", starved: ".", done: "=", todo: "-", between: "|" },
} as const;

const seg = (text: string, style: Style = "plain"): Segment => ({ text, style });
export const widthOf = (line: Line): number => line.reduce((sum, { text }) => sum + text.length, 0);

/** The line cut to `columns`. */
const clip = (line: Line, columns: number): Line => {
  let room = columns;
  return line.flatMap(({ text, style }) => {
    const shown = text.slice(0, room);
    room -= shown.length;
    return shown === "" ? [] : [{ text: shown, style }];
  });
};

/** Puts `left` and `right` at the two ends of the line; `right` is dropped if both do not fit. */
const atBothEnds = (left: Line, right: Line, columns: number): Line => {
  const gap = columns - widthOf(left) - widthOf(right);
  return gap < 2 ? left : [...left, seg(" ".repeat(gap)), ...right];
};

export const blockLines = (view: View, face: BlockFormat): readonly Line[] => {
  // The last column stays free: a full line would wrap on some terminals.
  const columns = Math.max(20, face.columns - 1);
  const stages = view.samples.at(-1)?.stages ?? [];
  return [
    title(view, face, columns),
    progress(view, face, columns),
    ...longWindow(view),
    [],
    figures(view, face, columns),
    flow(view, columns),
    ...warnings(view, columns),
    ...(stages.length === 0 ? [] : [[], ...table(view, stages, face, columns)]),
    ...view.notices.flatMap((notice, i) => [
      ...(i === 0 ? [[]] : []),
      ...notice.split("\n").map((text): Line => [seg(text, "warn")]),
    ]),
    ...(view.outcome === null
      ? []
      : [[], [seg(outcomeText(view.outcome), view.outcome._tag === "Failed" ? "bad" : "good")]]),
  ].map((line) => clip(line, columns));
};

/** Each active alarm with its head, measurement and advice; at the end of the run with all its sentences. */
const warnings = ({ alarms, outcome }: View, columns: number): readonly Line[] =>
  alarms.flatMap((alarm): readonly Line[] => {
    const sentences = outcome === null ? [alarm.measured, alarm.advice] : sentencesOf(alarm);
    const behind = sentences.flatMap((sentence) => wrapped(sentence, columns - 2));
    return [
      [],
      [seg(`warning: ${titleLine(alarm)}`, "bad")],
      ...behind.map((text): Line => [seg(`  ${text}`, "warn")]),
    ];
  });

const title = ({ run }: View, { unicode }: BlockFormat, columns: number): Line => {
  const between = ` ${glyphs[unicode ? "unicode" : "ascii"].between} `;
  return atBothEnds(
    [seg("millrace", "strong"), seg(`  ${run.name}${between}${run.mode}${between}seed ${run.seed}`)],
    [seg(run.folder, "dim")],
    columns,
  );
};

const progress = (view: View, { unicode }: BlockFormat, columns: number): Line => {
  const { step, run } = view;
  const { done, todo } = glyphs[unicode ? "unicode" : "ascii"];
  const left = leftMs(view);
  const before = `step ${String(step).padStart(String(run.steps).length)}/${run.steps} `;
  const after = ` ${percent(step / run.steps)}  ${duration(elapsedMs(view))} elapsed`;
  const remaining = view.outcome === null && Number.isFinite(left) ? `, ${duration(left)} left` : "";
  const width = Math.max(0, columns - before.length - after.length - remaining.length);
  const filled = Math.min(width, Math.round((step / run.steps) * width));
  return [
    seg(before, "strong"),
    seg(done.repeat(filled), "accent"),
    seg(todo.repeat(width - filled), "dim"),
    seg(after),
    seg(remaining),
  ];
};

/** A window that lasts longer has its own line, milliseconds. */
const QUICK_MS = 10_000;

const longWindow = ({ outcome, window }: View): readonly Line[] =>
  outcome !== null || windowMs(window) <= QUICK_MS
    ? []
    : [[seg(`step ${stepOf(window)}: `, "dim"), seg(progressText(window))]];

/** Labelled figures, as many as fit; those without a value are left out. */
const labelled = (
  figures: readonly (readonly [label: string, value: string | null, after?: string])[],
  columns: number,
): Line => {
  let room = columns;
  return figures.flatMap(([label, value, after = ""]) => {
    if (value === null) return [];
    const segments = [seg(label === "" ? "" : `${label} `, "dim"), seg(value, "strong"), seg(after)];
    const gap = room === columns ? 0 : 3;
    room -= widthOf(segments) + gap;
    return room < 0 ? [] : [seg(" ".repeat(gap)), ...segments];
  });
};

const shown = (view: View, metric: Metric, show: (value: number) => string): string | null => {
  const value = valueIn(view.metrics, metric);
  return value === undefined ? null : show(value);
};

const figures = (view: View, { unicode }: BlockFormat, columns: number): Line => {
  const trend = unicode ? sparkline(view.history.success, 20) : "";
  return labelled(
    [
      [
        "success",
        shown(view, episodes.success.of({ split: "train" }), decimal) ?? "-",
        trend === "" ? "" : ` ${trend}`,
      ],
      ["failed", failedShare(view.metrics, "train")],
      ["return", shown(view, episodes.return.of({ split: "train" }), decimal) ?? "-"],
      ["validation", shown(view, episodes.success.of({ split: "val-env" }), decimal)],
      ["failed", failedShare(view.metrics, "val-env")],
      ["kept", shown(view, filter.keptRatio, percent)],
      ["grad", shown(view, learner.gradNorm, decimal)],
    ],
    columns,
  );
};

const flow = (view: View, columns: number): Line => {
  const { generated, trained } = tokensPerSecond(view);
  const stale = valueIn(view.metrics, staleness.mean);
  const groups = view.samples.at(-1)?.groupsInFlight;
  return labelled(
    [
      ["tokens/s", count(Math.round(generated)), " generated"],
      ["", trained === 0 ? null : count(Math.round(trained)), " trained"],
      [
        "staleness",
        stale === undefined ? null : stale.toFixed(1),
        ` (max ${decimalOrInt(valueIn(view.metrics, staleness.max) ?? stale ?? 0)})`,
      ],
      ["groups in flight", groups === undefined ? null : count(groups)],
    ],
    columns,
  );
};

const decimalOrInt = (value: number): string => (Number.isInteger(value) ? String(value) : decimal(value));

// ---- the table of stages ----

interface Column {
  readonly title: string;
  readonly width: number;
  readonly cell: (stage: StageSample, before: StageSample | null) => string;
}

const table = (view: View, now: readonly StageSample[], { unicode }: BlockFormat, columns: number): readonly Line[] => {
  const earlier = view.samples.length > 1 ? (view.samples[0]?.stages ?? []) : [];
  const name = Math.max(5, ...now.map((stage) => stage.name.length));
  const details: readonly Column[] = [
    { title: "busy", width: 5, cell: (stage, before) => percent(Gauge.shares(before, stage).busy) },
    { title: "slots", width: 9, cell: (stage) => `${stage.running + stage.blocked}/${stage.concurrency}` },
    {
      title: "queue",
      width: 8,
      cell: (stage) => (stage.kind === "flow" ? `${stage.queue}/${stage.capacity}` : String(stage.queue)),
    },
    { title: "done", width: 7, cell: (stage) => count(stage.items) },
    { title: "each", width: 8, cell: (stage, before) => timeOf(stage, before, "serviceMs") },
    { title: "wait", width: 8, cell: (stage, before) => timeOf(stage, before, "waitMs") },
  ];
  const least = 12;
  const shown = details.filter(
    (_, i) => name + 2 + least + details.slice(0, i + 1).reduce((sum, { width }) => sum + width, 0) <= columns,
  );
  const bar = Math.min(44, columns - name - 2 - shown.reduce((sum, { width }) => sum + width, 0));
  const { busy, blocked, starved } = glyphs[unicode ? "unicode" : "ascii"];
  const legend: Line = [
    seg(busy, "good"),
    seg(" busy ", "dim"),
    seg(blocked, "warn"),
    seg(" blocked ", "dim"),
    seg(starved, "dim"),
    seg(" starved", "dim"),
  ];
  const row = (stage: StageSample, i: number): Line => {
    const before = earlier[i] ?? null;
    const share = Gauge.shares(before, stage);
    const [full = 0, stuck = 0] = cells([share.busy, share.blocked, share.starved], bar);
    return [
      seg(`${stage.name.padEnd(name)}  `),
      seg(busy.repeat(full), "good"),
      seg(blocked.repeat(stuck), "warn"),
      seg(starved.repeat(Math.max(0, bar - full - stuck)), "dim"),
      ...shown.map(({ width, cell }) => seg(cell(stage, before).padStart(width))),
    ];
  };
  return [
    [
      seg(`${"stage".padEnd(name)}  `, "dim"),
      ...(widthOf(legend) <= bar ? [...legend, seg(" ".repeat(bar - widthOf(legend)))] : [seg(" ".repeat(bar))]),
      ...shown.map(({ title, width }) => seg(title.padStart(width), "dim")),
    ],
    ...now.map(row),
  ];
};

const timeOf = (stage: StageSample, before: StageSample | null, which: "serviceMs" | "waitMs"): string => {
  const passed = stage.items - (before?.items ?? 0);
  return passed > 0 ? duration(Gauge.times(before, stage)[which]) : "-";
};
