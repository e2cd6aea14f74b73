/** Numbers as people read them: short, with their unit, and a dash for what was not measured. */

export const none = "–";

/** At most four significant digits, thousands as `12.3k`. */
export const number = (value: number | null | undefined): string => {
  if (value === null || value === undefined || Number.isNaN(value)) return none;
  if (!Number.isFinite(value)) return value > 0 ? "∞" : "-∞";
  const size = Math.abs(value);
  if (size >= 1e9) return `${trimmed(value / 1e9)}G`;
  if (size >= 1e6) return `${trimmed(value / 1e6)}M`;
  if (size >= 1e4) return `${trimmed(value / 1e3)}k`;
  if (size !== 0 && size < 1e-3) return value.toExponential(1);
  return trimmed(value);
};

const trimmed = (value: number): string => {
  const size = Math.abs(value);
  const digits = size >= 100 ? 0 : size >= 10 ? 1 : size >= 1 ? 2 : 3;
  return value
    .toFixed(digits)
    .replace(/(\.\d*?)0+$/, "$1")
    .replace(/\.$/, "");
};

export const percent = (share: number | null | undefined): string => {
  if (share === null || share === undefined || !Number.isFinite(share)) return none;
  // A product of binary fractions: 0.07 * 100 is a little more than 7.
  const value = Number((share * 100).toFixed(1));
  return `${Math.abs(value) < 10 && value % 1 !== 0 ? value.toFixed(1) : value.toFixed(0)} %`;
};

/** A span of milliseconds: `850 ms`, `12.4 s`, `3 m 20 s`, `2 h 05 m`, `3 d 4 h`. */
export const duration = (ms: number | null | undefined): string => {
  if (ms === null || ms === undefined || !Number.isFinite(ms)) return none;
  if (ms < 0) return `-${duration(-ms)}`;
  if (ms < 1000) return `${ms < 10 ? ms.toFixed(ms < 0.095 ? 2 : 1).replace(/\.0+$/, "") : Math.round(ms)} ms`;
  const seconds = ms / 1000;
  if (seconds < 60) return `${seconds < 10 ? seconds.toFixed(1) : Math.round(seconds)} s`;
  const minutes = Math.floor(seconds / 60);
  if (minutes < 60) return `${minutes} m ${two(Math.floor(seconds % 60))} s`;
  const hours = Math.floor(minutes / 60);
  if (hours < 48) return `${hours} h ${two(minutes % 60)} m`;
  return `${Math.floor(hours / 24)} d ${hours % 24} h`;
};

const two = (value: number): string => String(value).padStart(2, "0");

export const bytes = (value: number | null | undefined): string => {
  if (value === null || value === undefined || !Number.isFinite(value)) return none;
  const units = ["B", "kB", "MB", "GB", "TB"];
  const power = Math.min(units.length - 1, value < 1 ? 0 : Math.floor(Math.log10(value) / 3));
  return `${trimmed(value / 1000 ** power)} ${units[power]}`;
};

/** A moment on the reader's clock, with the day where it is not that of `near`. */
export const clock = (at: number, near?: number): string => {
  const date = new Date(at);
  const time = `${two(date.getHours())}:${two(date.getMinutes())}:${two(date.getSeconds())}`;
  if (near !== undefined && new Date(near).toDateString() === date.toDateString()) return time;
  return `${date.getFullYear()}-${two(date.getMonth() + 1)}-${two(date.getDate())} ${time}`;
};

/** `1 group`, `2 groups`. */
export const count = (value: number, one: string, many = `${one}s`): string =>
  `${value.toLocaleString("en-US")} ${value === 1 ? one : many}`;
