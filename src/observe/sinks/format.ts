/**
 * Numbers as people read them: three significant digits, a unit, a width that hardly changes. Pure.
 */

const units = ["", "k", "M", "G", "T"] as const;

/** `312`, `1.23k`, `45.6k`, `1.20M`; at most five characters. */
export const count = (value: number): string => {
  if (!Number.isFinite(value)) return "-";
  if (Math.abs(value) < 999.5) return Number.isInteger(value) ? String(value) : value.toPrecision(3);
  let scaled = value;
  let unit = 0;
  while (Math.abs(scaled) >= 999.5 && unit < units.length - 1) {
    scaled /= 1000;
    unit++;
  }
  return `${scaled.toPrecision(3)}${units[unit]}`;
};

/** A score or a loss: `0.742`, `-1.05`, `12.3`, `4.1e-7`; `-` for none. */
export const decimal = (value: number | undefined): string => {
  if (value === undefined || !Number.isFinite(value)) return "-";
  const size = Math.abs(value);
  if (size === 0) return "0";
  if (size < 1e-3 || size >= 1e5) return value.toExponential(1);
  return value.toFixed(size < 10 ? 3 : size < 100 ? 2 : size < 1000 ? 1 : 0);
};

/** `93%`. */
export const percent = (share: number): string => (Number.isFinite(share) ? `${Math.round(share * 100)}%` : "-");

/** The words of a text in lines of at most `columns` characters; a longer word is cut. */
export const wrapped = (text: string, columns: number): readonly string[] => {
  const lines: string[] = [];
  let line = "";
  for (const word of text.split(" ").map((each) => each.slice(0, columns))) {
    if (line !== "" && line.length + 1 + word.length > columns) {
      lines.push(line);
      line = word;
    } else line = line === "" ? word : `${line} ${word}`;
  }
  return [...lines, line];
};

const two = (n: number): string => String(n).padStart(2, "0");

/** Milliseconds as `<0.1ms`, `0.42ms`, `340ms`, `12.3s`, `3m05s`, `2h07m`, `1d03h`. */
export const duration = (ms: number): string => {
  if (!Number.isFinite(ms) || ms < 0) return "-";
  if (ms === 0) return "0ms";
  if (ms < 0.1) return "<0.1ms";
  if (ms < 10) return `${ms.toPrecision(2)}ms`;
  if (ms < 999.5) return `${Math.round(ms)}ms`;
  if (ms < 59_950) return `${(ms / 1000).toFixed(1)}s`;
  const seconds = Math.round(ms / 1000);
  if (seconds < 3600) return `${Math.floor(seconds / 60)}m${two(seconds % 60)}s`;
  const minutes = Math.floor(seconds / 60);
  if (minutes < 1440) return `${Math.floor(minutes / 60)}h${two(minutes % 60)}m`;
  return `${Math.floor(minutes / 1440)}d${two(Math.floor((minutes % 1440) / 60))}h`;
};

/** Whole cells of a bar for parts that sum to at most 1; the cells sum to `width` if the parts sum to 1 (largest remainder). */
export const cells = (parts: readonly number[], width: number): readonly number[] => {
  const exact = parts.map((part) => Math.max(0, part) * width);
  const whole = exact.map(Math.floor);
  const total = Math.min(width, Math.round(exact.reduce((sum, part) => sum + part, 0)));
  const byRemainder = exact
    .map((part, i) => ({ i, remainder: part - Math.floor(part) }))
    .sort((a, b) => b.remainder - a.remainder || a.i - b.i);
  let left = total - whole.reduce((sum, part) => sum + part, 0);
  for (const { i } of byRemainder) {
    if (left <= 0) break;
    whole[i]!++;
    left--;
  }
  return whole;
};

const levels = "▁▂▃▄▅▆▇█";

/** The last `width` values as block heights between their least and greatest. */
export const sparkline = (values: readonly number[], width: number): string => {
  const shown = values.filter(Number.isFinite).slice(-width);
  const least = Math.min(...shown);
  const range = Math.max(...shown) - least;
  return shown.map((value) => levels[range === 0 ? 0 : Math.round(((value - least) / range) * 7)]).join("");
};
