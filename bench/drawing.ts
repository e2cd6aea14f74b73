/**
 * Draws the docs' figures as SVG: panels with axes, a legend, and series in colours that are told apart without red and green. One file is
 * right on light and on dark pages. Pure: equal input gives equal bytes.
 */

export interface Tick {
  readonly value: number;
  readonly label: string;
}

export interface Axis {
  readonly title: string;
  /** The values at the ends of the axis. */
  readonly low: number;
  readonly high: number;
  readonly ticks: readonly Tick[];
}

/** One pair of axes; the numbers are pixels of the figure. */
export interface Panel {
  readonly left: number;
  readonly top: number;
  readonly width: number;
  readonly height: number;
  readonly title: string;
  readonly x: Axis;
  readonly y: Axis;
  /** Leaves out the title and numbers of the y axis where the panel to the left has the same. */
  readonly sharesY: boolean;
}

export interface Place {
  readonly x: number;
  readonly y: number;
}

/** A place to a tenth of a pixel. */
export const placeIn = (
  { height, left, top, width, x, y }: Panel,
  point: { readonly x: number; readonly y: number },
): Place => {
  const tenth = (pixels: number): number => Number(pixels.toFixed(1));
  return {
    x: tenth(left + (width * (point.x - x.low)) / (x.high - x.low)),
    y: tenth(top + height * (1 - (point.y - y.low) / (y.high - y.low))),
  };
};

export const lineThrough = (places: readonly Place[]): string =>
  places.map(({ x, y }, index) => `${index === 0 ? "M" : "L"}${x} ${y}`).join("");

const escaped = (text: string): string =>
  text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;").replaceAll('"', "&quot;");

export const textAt = ({ x, y }: Place, text: string, classes = ""): string =>
  `<text${classes === "" ? "" : ` class="${classes}"`} x="${x}" y="${y}">${escaped(text)}</text>`;

const yAxisOf = (panel: Panel): readonly string[] => {
  const { height, left, sharesY, top, width, x, y } = panel;
  const lines = y.ticks.flatMap(({ label, value }) => {
    const at = placeIn(panel, { x: x.low, y: value });
    const line = `<path class="grid" d="M${left} ${at.y}h${width}" />`;
    return sharesY ? [line] : [line, textAt({ x: left - 8, y: at.y + 4 }, label, "note right")];
  });
  if (sharesY) return lines;
  const turned = `<g transform="translate(${left - 40} ${top + height / 2}) rotate(-90)">`;
  return [...lines, `${turned}${textAt({ x: 0, y: 0 }, y.title, "note")}</g>`];
};

export const axesOf = (panel: Panel): string => {
  const { height, left, title, top, width, x, y } = panel;
  const bottom = top + height;
  const middle = left + width / 2;
  return [
    ...yAxisOf(panel),
    `<path class="axis" d="M${left} ${top}V${bottom}h${width}" />`,
    ...x.ticks.map(({ label, value }) =>
      textAt({ x: placeIn(panel, { x: value, y: y.low }).x, y: bottom + 18 }, label, "note"),
    ),
    ...(title === "" ? [] : [textAt({ x: middle, y: top - 12 }, title)]),
    textAt({ x: middle, y: bottom + 36 }, x.title, "note"),
  ].join("\n  ");
};

/** Round steps of an axis, in units of a power of ten. */
const roundSteps = [1, 2, 2.5, 5, 10];

/** An axis with some five round steps whose ends lie on ticks, around all values; from 0 to 1 where there are none. */
export const axisAround = (title: string, values: readonly number[]): Axis => {
  const range = values.length === 0 ? [0, 1] : values;
  const [least, greatest] = [Math.min(...range), Math.max(...range)];
  const rough = (greatest - least || Math.abs(greatest) || 1) / 5;
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = power * (roundSteps.find((round) => round * power >= rough * 0.999) ?? 10);
  const first = Math.floor(least / step + 1e-9);
  const last = Math.max(first + 1, Math.ceil(greatest / step - 1e-9));
  const decimals =
    [0, 1, 2, 3, 4, 5, 6].find((count) => Math.abs(step - Number(step.toFixed(count))) < step / 1e6) ?? 6;
  const ticks = Array.from({ length: last - first + 1 }, (_, index) => {
    const label = ((first + index) * step).toFixed(decimals);
    return { value: Number(label), label };
  });
  return { title, low: first * step, high: last * step, ticks };
};

/** The colours of the series: dark on light pages, and light on dark pages. */
const seriesColors = {
  light: ["#1f2328", "#bc4c00", "#0969da", "#00866a", "#8e3b8e", "#b08800"],
  dark: ["#f0f6fc", "#f0743a", "#4ca6ea", "#1fc79a", "#f29ad0", "#f0e04a"],
};

const mostSeries = seriesColors.light.length;

const colorRules = (colors: readonly string[]): string =>
  colors.map((color, index) => `.s${index} { color: ${color} }`).join(" ");

const style = `
    text { font: 13px ui-sans-serif, system-ui, "Segoe UI", Helvetica, Arial, sans-serif; fill: #1f2328; text-anchor: middle }
    .left { text-anchor: start }
    .right { text-anchor: end }
    .note { fill: #59636e; font-size: 12px }
    .axis { stroke: #8c959f; fill: none }
    .grid { stroke: #8c959f; stroke-opacity: 0.25 }
    .series { stroke: currentColor; stroke-width: 2; stroke-linejoin: round; fill: none }
    .thin { stroke-width: 1; stroke-opacity: 0.35 }
    .whole { fill: currentColor }
    .faint { fill: currentColor; stroke: none; opacity: 0.45 }
    ${colorRules(seriesColors.light)}
    @media (prefers-color-scheme: dark) {
      text { fill: #f0f6fc }
      .note { fill: #9198a1 }
      ${colorRules(seriesColors.dark)}
    }
  `;

/** Puts the shapes of one series into its colour. */
export const seriesOf = (index: number, shapes: readonly string[]): string =>
  `<g class="series s${index % mostSeries}">${shapes.join("")}</g>`;

/** A marker with a form for each series, so that they differ in print too. */
export const markerOf = (index: number, { x, y }: Place): string => {
  const forms = [
    `<circle class="whole" cx="${x}" cy="${y}" r="3" />`,
    `<path class="whole" d="M${x} ${y}m-2.5 -2.5h5v5h-5z" />`,
    `<path class="whole" d="M${x} ${y}m0 -4l3.5 6h-7z" />`,
    `<path class="whole" d="M${x} ${y}m0 -4l4 4l-4 4l-4 -4z" />`,
    `<path class="whole" d="M${x} ${y}m0 4l-3.5 -6h7z" />`,
    `<path d="M${x} ${y}m-3.5 -3.5l7 7m0 -7l-7 7" />`,
  ];
  return forms[index % forms.length]!;
};

export interface LegendItem {
  /** The number of the series, which has its colour. */
  readonly series: number;
  readonly label: string;
}

/** Pixels of a text in the widest of the usual fonts, by the kinds of its characters. */
const widthOf = (text: string): number =>
  [...text].reduce((sum, character) => {
    if (/[iljftr.,:;()|' ]/.test(character)) return sum + 4.6;
    return sum + (/[mwMW%]/.test(character) ? 11.5 : 7.8);
  }, 0);

/** Pixels of a legend's item beside its words, and of a row. */
const legendSize = { item: 46, row: 22 };

/** A legend from the figure's upper left corner, in as many rows as its width needs. */
export const legendOf = (
  items: readonly LegendItem[],
  figureWidth: number,
  markOf: (series: number, place: Place) => string = markerOf,
): { readonly drawn: string; readonly bottom: number } => {
  let [x, y] = [24, 18];
  const drawn = items.map(({ label, series }) => {
    const width = legendSize.item + widthOf(label);
    if (x > 24 && x + width - 18 > figureWidth) [x, y] = [24, y + legendSize.row];
    const item = `${seriesOf(series, [`<path d="M${x} ${y}h22" />`, markOf(series, { x: x + 11, y })])}
  ${textAt({ x: x + 28, y: y + 4 }, label, "left")}`;
    x = Math.round(x + width);
    return item;
  });
  return { drawn: drawn.join("\n  "), bottom: y };
};

export interface Figure {
  readonly width: number;
  readonly height: number;
  /** The figure in words, for those who do not see it. */
  readonly title: string;
  readonly parts: readonly string[];
}

export const svgOf = ({ height, parts, title, width }: Figure): string =>
  `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" width="${width}" height="${height}" role="img" aria-labelledby="title">
  <title id="title">${escaped(title)}</title>
  <style>${style}</style>
  ${parts.join("\n  ")}
</svg>
`;
