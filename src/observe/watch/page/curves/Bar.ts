/** The settings of all charts: the axis, smoothing, the band, marks and the scale of values. */
import { html } from "htm/preact";
import type { VNode } from "preact";
import type { Axis } from "./align.ts";
import type { Settings } from "./ChartCard.ts";
import { type Csv, CsvButton } from "./CsvButton.ts";

interface BarProps {
  readonly settings: Settings;
  readonly onChange: (settings: Settings) => void;
  readonly zoomed: boolean;
  readonly onReset: () => void;
  readonly csv: Csv;
  /** Name of the file with all of it. */
  readonly file: string;
}

export const Bar = ({ csv, file, onChange, onReset, settings, zoomed }: BarProps): VNode => {
  const { axis, smoothing } = settings;
  const choice = (value: Axis): VNode =>
    html`<button type="button" aria-pressed=${axis === value} onClick=${() => onChange({ ...settings, axis: value })}>${value}</button>`;
  const flag = (key: "band" | "log" | "marks", label: string, title: string): VNode =>
    html`<button type="button" title=${title} aria-pressed=${settings[key]} onClick=${() => onChange({ ...settings, [key]: !settings[key] })}>${label}</button>`;
  return html`<div class="viewhead chartbar">
    <span class="segments" role="group" aria-label="Axis">${choice("step")}${choice("time")}</span>
    <label class="smoothing" title="How much of the average before goes into each value">smoothing
      <input type="range" min="0" max="0.99" step="0.01" value=${smoothing} aria-label="Smoothing"
        onInput=${(event: InputEvent & { readonly currentTarget: HTMLInputElement }) => onChange({ ...settings, smoothing: Number(event.currentTarget.value) })} />
      <output>${smoothing.toFixed(2)}</output></label>
    ${flag("band", "min – max", "The least and greatest value of the steps that share a point")}
    ${flag("log", "log", "Values on a logarithmic scale")}
    ${flag("marks", "marks", "Validations, checkpoints and controls as lines")}
    <span class="spacer"></span>
    <button type="button" disabled=${!zoomed} title="Or double-click a chart" onClick=${onReset}>whole run</button>
    <${CsvButton} csv=${csv} name=${file} label="CSV of all" title="Every step of the metrics drawn" />
  </div>`;
};
