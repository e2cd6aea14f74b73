/** One metric of one or several runs as a chart: uPlot draws, the page decides what and over which range. */
import { html } from "htm/preact";
import type { VNode } from "preact";
import { useEffect, useLayoutEffect, useRef } from "preact/hooks";
import uPlot from "uplot";
import type { Mark } from "../../Api.ts";
import { colour, painted } from "../theme.ts";
import type { Aligned, Axis } from "./align.ts";
import { axesOf, bandsOf, type Colours, dataOf, MEASURED, PER_RUN, rangeOf, seriesOf } from "./plot.ts";

export type Range = readonly [number, number];

export interface ChartProps {
  readonly label: string;
  readonly aligned: Aligned;
  readonly colours: readonly string[];
  readonly axis: Axis;
  readonly log: boolean;
  /** True if the values are shares, between 0 and 1. */
  readonly shares: boolean;
  readonly band: boolean;
  readonly raw: boolean;
  /** The part of the axis shown; null: all. */
  readonly zoom: Range | null;
  readonly onZoom: (range: Range | null) => void;
  readonly marks: readonly { readonly x: number; readonly kind: Mark["kind"] }[];
  /** Position of the viewed moment on the axis; null while the newest one is viewed. */
  readonly viewed: number | null;
  readonly theme: "light" | "dark";
  readonly height?: number;
  /** Values at the cursor, one for each run; null where the cursor is elsewhere. */
  readonly onCursor?: (x: number | null, values: readonly (number | null)[]) => void;
  readonly chartRef?: { current: uPlot | null };
}

const coloursNow = (): Colours => ({
  text: colour("--muted"),
  grid: colour("--grid"),
  accent: colour("--accent"),
  marks: {
    validation: colour("--accent"),
    checkpoint: colour("--good"),
    control: colour("--blocked"),
    stall: colour("--bad"),
    skipped: colour("--bad"),
    resume: colour("--faint"),
    end: colour("--faint"),
  },
});

const vertical = (plot: uPlot, x: number, stroke: string, width: number, dash: readonly number[]): void => {
  const { ctx } = plot;
  const { height, left, top, width: across } = plot.bbox;
  const at = Math.round(plot.valToPos(x, "x", true));
  if (at < left || at > left + across) return;
  ctx.save();
  ctx.strokeStyle = stroke;
  ctx.lineWidth = width * devicePixelRatio;
  ctx.setLineDash(dash.map((length) => length * devicePixelRatio));
  ctx.beginPath();
  ctx.moveTo(at, top);
  ctx.lineTo(at, top + height);
  ctx.stroke();
  ctx.restore();
};

const hooksOf = (newest: { readonly current: ChartProps }, theme: Colours): uPlot.Hooks.Arrays => ({
  setSelect: [
    (plot) => {
      if (plot.select.width < 4) return;
      const from = plot.posToVal(plot.select.left, "x");
      const to = plot.posToVal(plot.select.left + plot.select.width, "x");
      plot.setSelect({ left: 0, top: 0, width: 0, height: 0 }, false);
      newest.current.onZoom([from, to]);
    },
  ],
  setCursor: [
    (plot) => {
      const { idx } = plot.cursor;
      const { colours, onCursor } = newest.current;
      if (idx === null || idx === undefined) onCursor?.(null, []);
      else
        onCursor?.(
          plot.data[0][idx] ?? null,
          colours.map((_, i) => plot.data[i * PER_RUN + MEASURED]?.[idx] ?? null),
        );
    },
  ],
  drawAxes: [
    (plot) => {
      for (const { kind, x } of newest.current.marks)
        vertical(plot, x, `${theme.marks[kind] ?? theme.grid}`, 1, [2, 4]);
      if (newest.current.viewed !== null) vertical(plot, newest.current.viewed, theme.accent, 1.5, []);
    },
  ],
});

const optionsOf = (newest: { readonly current: ChartProps }, width: number): uPlot.Options => {
  const { axis, band, height = 196, log, raw, shares, theme } = newest.current;
  const colours = newest.current.colours.map(painted);
  const look = coloursNow();
  return {
    width,
    height,
    legend: { show: false },
    padding: [10, 12, 0, 0],
    cursor: {
      sync: { key: "curves" },
      drag: { x: true, y: false, setScale: false },
      points: { size: 6 },
      bind: {
        dblclick: () => () => {
          newest.current.onZoom(null);
          return null;
        },
      },
    },
    scales: {
      x: {
        time: false,
        range: (_, min, max) => [...(newest.current.zoom ?? [min ?? 0, max ?? 1])] as [number, number],
      },
      y: { distr: log ? 3 : 1, range: (_, min, max) => rangeOf(min, max, { log, shares }) },
    },
    axes: axesOf(axis, look),
    series: seriesOf({ colours, band, raw, theme }),
    bands: bandsOf(colours, band),
    hooks: hooksOf(newest, look),
  };
};

export const Chart = (props: ChartProps): VNode => {
  const { aligned, axis, band, colours, height, label, log, marks, raw, shares, theme, viewed, zoom } = props;
  const place = useRef<HTMLDivElement>(null);
  const plotRef = useRef<uPlot | null>(null);
  const newest = useRef(props);
  newest.current = props;
  useLayoutEffect(() => {
    const element = place.current;
    if (element === null) return;
    const plot = new uPlot(
      optionsOf(newest, Math.max(120, element.clientWidth)),
      dataOf(newest.current.aligned),
      element,
    );
    plotRef.current = plot;
    if (props.chartRef !== undefined) props.chartRef.current = plot;
    const observer = new ResizeObserver(() => {
      const width = Math.max(120, element.clientWidth);
      if (width !== plot.width) plot.setSize({ width, height: plot.height });
    });
    observer.observe(element);
    return () => {
      observer.disconnect();
      plot.destroy();
      plotRef.current = null;
    };
  }, [axis, band, colours.join(), height, log, raw, shares, theme]);
  const drawn = useRef(aligned);
  useEffect(() => {
    if (drawn.current === aligned) return;
    drawn.current = aligned;
    plotRef.current?.setData(dataOf(aligned));
  }, [aligned]);
  useEffect(() => {
    const plot = plotRef.current;
    if (plot === null) return;
    const [first = 0] = plot.data[0];
    const last = plot.data[0].at(-1) ?? 1;
    plot.setScale("x", { min: zoom?.[0] ?? first, max: zoom?.[1] ?? last });
  }, [zoom?.[0], zoom?.[1]]);
  useEffect(() => plotRef.current?.redraw(false, true), [marks, viewed]);
  return html`<div class="chart" ref=${place} role="img" aria-label=${label}></div>`;
};
