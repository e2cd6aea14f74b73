/** A chart with its head: what is drawn, its value at the cursor or last, and its downloads. */
import { html } from "htm/preact";
import type { RefObject, VNode } from "preact";
import { useEffect, useMemo, useRef } from "preact/hooks";
import type uPlot from "uplot";
import type { Curves, Mark, MetricCard } from "../../Api.ts";
import { duration, none, number } from "../format.ts";
import { colour, painted as paintedColour } from "../theme.ts";
import { type Axis, align, curveOf } from "./align.ts";
import { Chart, type Range } from "./Chart.ts";
import { type Csv, CsvButton } from "./CsvButton.ts";
import { isSmoothed, sayingOf } from "./choose.ts";
import { download, fileNameOf, painted } from "./png.ts";
import { lastOf } from "./smooth.ts";

export interface DrawnRun {
  readonly id: string;
  readonly label: string;
  readonly colour: string;
  readonly started: number;
  readonly curves: Curves | undefined;
}

export interface Settings {
  readonly axis: Axis;
  readonly smoothing: number;
  readonly log: boolean;
  readonly band: boolean;
  readonly marks: boolean;
}

interface ChartCardProps {
  readonly name: string;
  readonly card: MetricCard | null;
  readonly runs: readonly DrawnRun[];
  readonly settings: Settings;
  readonly zoom: Range | null;
  readonly onZoom: (range: Range | null) => void;
  readonly marks: readonly Mark[];
  /** Time of the viewed moment, Unix milliseconds; null while the newest one is viewed. */
  readonly at: number | null;
  /** Its position on the axis. */
  readonly viewed: number | null;
  readonly theme: "light" | "dark";
  readonly csv: Csv;
  readonly onRemove?: () => void;
}

/** The places of the current run's marks on the axis. */
const placed = (marks: readonly Mark[], axis: Axis, started: number) =>
  marks.map(({ at, kind, step }) => ({ kind, x: axis === "step" ? step : (at - started) / 1000 }));

interface HeadProps extends ChartCardProps {
  readonly last: readonly (number | null)[];
  readonly readout: RefObject<HTMLElement>;
  readonly picture: () => void;
}

const Head = ({ card, csv, last, name, onRemove, picture, readout, runs }: HeadProps): VNode =>
  html`<header>
      <h3 title=${`${name}\n${sayingOf(card)}`}>${name}</h3>
      <span class="muted unit">${card === null || card.unit === "1" ? "" : card.unit}</span>
      <span class="spacer"></span>
      <span class="readout" ref=${readout} title="As measured, at the cursor or last">
        <span class="muted"></span>
        ${last.map((_, i) => html`<b key=${runs[i]?.id} style=${{ color: runs[i]?.colour }}></b>`)}
      </span>
      <span class="actions">
        <${CsvButton} csv=${csv} name="${fileNameOf(name)}.csv" label="CSV" title="Every step as CSV" quiet=${true} />
        <button type="button" class="quiet" title="This chart as a picture" onClick=${picture}>PNG</button>
        ${onRemove === undefined ? null : html`<button type="button" class="quiet" aria-label="Remove ${name}" title="Remove" onClick=${onRemove}>×</button>`}
      </span>
    </header>`;

export const ChartCard = (props: ChartCardProps): VNode => {
  const { at, card, marks, name, onZoom, runs, settings, theme, viewed, zoom } = props;
  const { axis, band, log } = settings;
  const smoothing = isSmoothed(name) ? settings.smoothing : 0;
  const chart = useRef<uPlot | null>(null);
  const readout = useRef<HTMLElement>(null);
  const aligned = useMemo(
    () =>
      align(
        runs.map(({ curves, started }) =>
          curves === undefined ? null : curveOf(curves, name, started, { axis, smoothing, log, until: at }),
        ),
      ),
    [...runs.map(({ curves }) => curves), runs.length, name, axis, smoothing, log, at],
  );
  const colours = runs.map(({ colour }) => colour);
  const last = aligned.curves.map(({ mean }) => lastOf(mean));
  // Written without preact: the cursor moves on all charts at once, sixty times a second.
  const write = (x: number | null, values: readonly (number | null)[]): void => {
    const element = readout.current;
    if (element === null) return;
    const where = x === null ? "" : axis === "step" ? `step ${number(x)}` : duration(x * 1000);
    const shown = x === null ? last : values;
    const spans = [...element.children];
    if (spans[0] !== undefined) spans[0].textContent = where;
    for (const [i, span] of spans.slice(1).entries()) span.textContent = number(shown[i]);
  };
  const picture = (): void => {
    const canvas = chart.current?.ctx.canvas;
    if (canvas === undefined) return;
    const painting = painted(canvas, {
      title: card === null || card.unit === "1" ? name : `${name} (${card.unit})`,
      runs: runs.map(({ colour, label }) => ({ name: label, colour: paintedColour(colour) })),
      ground: colour("--panel"),
      text: colour("--text"),
    });
    download(painting, `${fileNameOf(name)}.png`);
  };
  useEffect(() => write(null, []), [last.join(), axis, theme]);
  const lines = useMemo(
    () => (settings.marks ? placed(marks, axis, runs[0]?.started ?? 0) : []),
    [settings.marks, marks, axis, runs[0]?.started],
  );
  return html`<section class="panel chartcard" aria-label=${name} data-metric=${name}>
    <${Head} ...${props} last=${last} readout=${readout} picture=${picture} />
    ${
      aligned.x.length === 0
        ? html`<p class="empty">${runs.some(({ curves }) => curves === undefined) ? "Reading …" : `Nothing measured${log ? " above zero" : ""} up to here.`}</p>`
        : html`<${Chart} label="${name}, last ${last.map(number).join(", ") || none}" aligned=${aligned} colours=${colours} axis=${axis} log=${log}
            shares=${card?.unit === "share"} band=${band} raw=${smoothing > 0} zoom=${zoom} onZoom=${onZoom} marks=${lines} viewed=${viewed} theme=${theme} onCursor=${write} chartRef=${chart} />`
    }
  </section>`;
};
