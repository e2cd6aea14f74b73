/**
 * The parts of the policy's gradient: the norm of each part of the loss over the buckets of groups by reward variance. Each
 * analysed step has a bar, the latest the darkest. Each part has its own scale.
 */
import { html } from "htm/preact";
import type { VNode } from "preact";
import { number } from "../format.ts";
import { type Decomposition, type Part, parts } from "./ReportData.ts";

const WIDTH = 380;
const HEIGHT = 150;
/** Room for the scale on the left, the title above and the names below. */
const LEFT = 48;
const TOP = 18;
const BOTTOM = 18;

export interface Bar {
  readonly x: number;
  readonly y: number;
  readonly width: number;
  readonly height: number;
  readonly opacity: number;
  readonly label: string;
}

const titles: Readonly<Record<Part, string>> = { task: "task", entropy: "entropy", kl: "KL" };

/** The bars of one part, and the value at the top of its scale; null where it was never measured. */
export const barsOf = (
  steps: readonly Decomposition[],
  part: Part,
): { readonly bars: readonly Bar[]; readonly top: number } | null => {
  const values = steps.flatMap(({ buckets }) => buckets.flatMap((bucket) => bucket[part] ?? []));
  if (values.length === 0) return null;
  const top = Math.max(...values);
  const names = steps[0]?.buckets ?? [];
  const across = (WIDTH - LEFT) / Math.max(1, names.length);
  const width = (across * 0.8) / steps.length;
  const bars = steps.flatMap(({ buckets, step }, i) =>
    buckets.flatMap((bucket, at): readonly Bar[] => {
      const value = bucket[part];
      if (value === null) return [];
      const height = top === 0 ? 0 : (value / top) * (HEIGHT - TOP - BOTTOM);
      const label = `step ${step}, ${bucket.name}: ${number(value)}`;
      const x = LEFT + at * across + across * 0.1 + i * width;
      return [{ x, y: HEIGHT - BOTTOM - height, width: width * 0.9, height, opacity: (i + 1) / steps.length, label }];
    }),
  );
  return { bars, top };
};

const shortName = (bucket: string): string => bucket.replace("bucket_", "");

const Panel = ({ part, steps }: { readonly part: Part; readonly steps: readonly Decomposition[] }) => {
  const drawn = barsOf(steps, part);
  if (drawn === null) return null;
  const names = steps[0]?.buckets ?? [];
  const across = (WIDTH - LEFT) / Math.max(1, names.length);
  const floor = HEIGHT - BOTTOM;
  return html`<svg class="rp-bars" viewBox=${`0 0 ${WIDTH} ${HEIGHT}`} role="img" aria-label=${`gradient norm of ${titles[part]} by bucket of reward variance`}>
    <text x=${LEFT} y="12">${titles[part]}</text>
    <text x=${LEFT - 6} y=${TOP + 8} text-anchor="end">${number(drawn.top)}</text>
    <text x=${LEFT - 6} y=${floor} text-anchor="end">0</text>
    <line x1=${LEFT} x2=${WIDTH} y1=${floor} y2=${floor} />
    ${names.map(({ name }, at) => html`<text key=${name} x=${LEFT + (at + 0.5) * across} y=${HEIGHT - 4} text-anchor="middle">${shortName(name)}</text>`)}
    ${drawn.bars.map(
      ({ height, label, opacity, width, x, y }) =>
        html`<rect key=${label} x=${x} y=${y} width=${width} height=${height} opacity=${opacity}><title>${label}</title></rect>`,
    )}
  </svg>`;
};

/** Nothing where no step was analysed. */
export const GradientBars = ({ steps }: { readonly steps: readonly Decomposition[] }): VNode | null => {
  const [first] = steps;
  const last = steps.at(-1);
  if (first === undefined || last === undefined) return null;
  const when = first.step === last.step ? `step ${first.step}` : `steps ${steps.map(({ step }) => step).join(", ")}`;
  return html`<h4>Gradient norms by reward variance of the groups</h4>
    <div class="rp-line">${parts.map((part) => html`<${Panel} key=${part} part=${part} steps=${steps} />`)}</div>
    <p class="muted">Groups from the least variance (1) to the most, then all of them; ${when}, the latest darkest.</p>` as VNode;
};
