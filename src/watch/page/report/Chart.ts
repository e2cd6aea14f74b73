/** A metric over steps, several runs in one chart: mean of each bucket of steps with the span between its least and greatest value. */
import { html } from "htm/preact";
import type { VNode } from "preact";
import { useState } from "preact/hooks";
import type { MetricCard } from "../../Api.ts";
import { number } from "../format.ts";
import { type Axis, lineThrough, nearest, padded, place, pointsOf, rangeOf, ticksOf } from "./plot.ts";

export interface Line {
  readonly run: string;
  /** Index of its colour. */
  readonly colour: number;
  readonly steps: readonly number[];
  readonly mean: readonly (number | null)[];
  readonly min: readonly (number | null)[];
  readonly max: readonly (number | null)[];
}

interface ChartProps {
  readonly name: string;
  readonly about: MetricCard | null;
  readonly lines: readonly Line[];
}

const width = 340;
const height = 150;
const margin = { left: 46, right: 8, top: 6, bottom: 20 };

/** The area between the least and the greatest values; nothing where a bucket is one step. */
const spanOf = ({ max, min, steps }: Line, x: Axis, y: Axis): string => {
  const known = steps.flatMap((step, at) => {
    const [low, high] = [min[at], max[at]];
    return low === null || low === undefined || high === null || high === undefined ? [] : [{ step, low, high }];
  });
  if (known.every(({ high, low }) => high === low)) return "";
  const point = (step: number, value: number): string => `${place(x, step).toFixed(1)} ${place(y, value).toFixed(1)}`;
  const above = known.map(({ high, step }) => point(step, high));
  const below = known.map(({ low, step }) => point(step, low)).toReversed();
  return `M${[...above, ...below].join("L")}Z`;
};

const axesOf = (lines: readonly Line[], share: boolean): { readonly x: Axis; readonly y: Axis } | null => {
  const steps = rangeOf(lines.map((line) => line.steps));
  const values = rangeOf(lines.flatMap(({ max, min }) => [min, max]));
  if (steps === null || values === null) return null;
  return {
    x: { ...steps, from: margin.left, to: width - margin.right },
    y: { ...padded(values, share), from: height - margin.bottom, to: margin.top },
  };
};

const Axes = ({ x, y }: { readonly x: Axis; readonly y: Axis }) => html`
  ${ticksOf(y, 4).map(
    (tick) => html`<g key=${`y${tick}`} class="tick">
      <path d=${`M${x.from} ${place(y, tick)}H${x.to}`} />
      <text x=${x.from - 5} y=${place(y, tick) + 3} text-anchor="end">${number(tick)}</text>
    </g>`,
  )}
  ${ticksOf(x, 4).map(
    (tick) =>
      html`<text key=${`x${tick}`} class="tick" x=${place(x, tick)} y=${height - 6} text-anchor="middle">${number(tick)}</text>`,
  )}
`;

/** The numbers at a step, of each run. */
const Readout = ({ lines, step }: { readonly lines: readonly Line[]; readonly step: number | null }) =>
  html`<p class="readout">${
    step === null ? html`<span class="hint">last</span>` : html`<span class="hint">step ${step}</span>`
  }${lines.map((line) => {
    const measured = line.steps.flatMap((at, index) => (line.mean[index] === null ? [] : [{ at, index }]));
    const found =
      step === null
        ? measured.at(-1)
        : measured[
            nearest(
              measured.map(({ at }) => at),
              step,
            )
          ];
    return html`<span key=${line.run} class=${`run run-${line.colour}`}>${found === undefined ? "–" : number(line.mean[found.index])}</span>`;
  })}</p>`;

/** As many points are drawn as dots, too: where a metric is measured now and then, the line alone tells too much. */
const mostDots = 40;

const Drawn = ({ line, x, y }: { readonly line: Line; readonly x: Axis; readonly y: Axis }) => {
  const points = pointsOf(line.steps, line.mean, x, y);
  return html`<g class=${`run run-${line.colour}`}>
    <path class="span" d=${spanOf(line, x, y)} />
    <path class="mean" d=${lineThrough(points)} />
    ${points.length > mostDots ? null : points.map((point) => html`<circle key=${point.x} class="dot" cx=${point.x} cy=${point.y} r="1.8" />`)}
  </g>`;
};

export const Chart = ({ about, lines, name }: ChartProps): VNode | null => {
  const [step, point] = useState<number | null>(null);
  const axes = axesOf(lines, about?.unit === "share");
  if (axes === null) return null;
  const { x, y } = axes;
  const onPointerMove = (event: PointerEvent): void => {
    const box = (event.currentTarget as SVGElement).getBoundingClientRect();
    const along = ((event.clientX - box.left) / box.width) * width;
    const value = x.least + ((along - x.from) / (x.to - x.from)) * (x.greatest - x.least);
    const steps = lines.flatMap((line) => line.steps);
    point(steps[nearest(steps, value)] ?? null);
  };
  const unit = about === null || about.unit === "1" ? "" : about.unit;
  return html`<figure class="chart">
    <figcaption title=${about?.meaning ?? ""}><b>${name}</b> <span class="hint">${unit}</span></figcaption>
    <svg viewBox=${`0 0 ${width} ${height}`} role="img" aria-label=${`${name} over steps`} onPointerMove=${onPointerMove} onPointerLeave=${() => point(null)}>
      <${Axes} x=${x} y=${y} />
      ${lines.map((line) => html`<${Drawn} key=${line.run} line=${line} x=${x} y=${y} />`)}
      ${step === null ? null : html`<path class="cursor" d=${`M${place(x, step)} ${margin.top}V${height - margin.bottom}`} />`}
    </svg>
    <${Readout} lines=${lines} step=${step} />
  </figure>` as VNode;
};
