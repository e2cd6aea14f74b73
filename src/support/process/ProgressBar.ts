/**
 * A progress bar on standard error: one redrawn line on a terminal, and a line for each new text elsewhere. Invariant: closing it
 * clears the last line it drew.
 */
import process from "node:process";

export interface ProgressBar {
  /** `share` of the whole is done; `text` names the work under way. */
  readonly show: (share: number, text: string) => void;
  /** Prints a line that stays. */
  readonly print: (line: string) => void;
  readonly close: () => void;
}

export type Output = Pick<NodeJS.WriteStream, "write"> & { readonly isTTY?: boolean; readonly columns?: number };

const barWidth = 24;

const barOf = (share: number): string => {
  const filled = Math.round(barWidth * Math.min(1, Math.max(0, share)));
  return `[${"#".repeat(filled)}${" ".repeat(barWidth - filled)}]`;
};

const percentOf = (share: number): string => `${String(Math.floor(100 * Math.min(1, share))).padStart(3)} %`;

/** A bar for a terminal, which can redraw a line. */
const live = (out: Output): ProgressBar => {
  const clear = (): unknown => out.write("\r\x1b[K");
  return {
    show: (share, text) => {
      const line = `${barOf(share)} ${percentOf(share)}  ${text}`;
      out.write(`\r\x1b[K${line.slice(0, (out.columns ?? 100) - 1)}`);
    },
    print: (line) => {
      clear();
      out.write(`${line}\n`);
    },
    close: clear,
  };
};

/** A bar for other outputs, with one line for each text. */
const plain = (out: Output): ProgressBar => {
  let last = "";
  return {
    show: (share, text) => {
      if (text === last) return;
      last = text;
      out.write(`${percentOf(share)}  ${text}\n`);
    },
    print: (line) => void out.write(`${line}\n`),
    close: () => undefined,
  };
};

export const progressBar = (out: Output = process.stderr): ProgressBar =>
  out.isTTY === true && process.env.TERM !== "dumb" ? live(out) : plain(out);
