/** Draws windows on a canvas: a column each, with the share kept above, and below its groups by rank or by score. */
import type { VerdictName } from "../../../../domain/EpisodeRecord.ts";
import type { WindowView } from "../../Api.ts";
import { extentOf, keptShare, ranked } from "./windows.ts";

export type Mode = "ranks" | "scores";

export interface Palette {
  readonly ground: string;
  readonly line: string;
  readonly text: string;
  readonly cut: string;
  readonly verdicts: Readonly<Record<VerdictName, string>>;
}

export interface Drawing {
  readonly windows: readonly WindowView[];
  readonly mode: Mode;
  readonly selected: number | null;
  readonly width: number;
  readonly height: number;
  readonly palette: Palette;
}

/** Height of the bars of kept shares, and the room below them. */
export const HEAD = 44;
const GAP = 8;

type Ctx = CanvasRenderingContext2D;

const bars = (ctx: Ctx, { palette, width, windows }: Drawing): void => {
  const across = width / windows.length;
  ctx.fillStyle = palette.ground;
  ctx.fillRect(0, 0, width, HEAD);
  ctx.fillStyle = palette.verdicts.kept;
  for (const [i, window] of windows.entries()) {
    const height = (keptShare(window) ?? 0) * HEAD;
    ctx.fillRect(i * across, HEAD - height, Math.max(1, across - (across > 4 ? 1 : 0)), height);
  }
};

const cells = (ctx: Ctx, { height, palette, width, windows }: Drawing): void => {
  const { groups: rows, score: top } = extentOf(windows);
  const across = width / windows.length;
  const down = (height - HEAD - GAP) / rows;
  for (const [i, window] of windows.entries()) {
    for (const [rank, { score = 0, verdict }] of ranked(window.groups).entries()) {
      ctx.globalAlpha =
        verdict !== "zero" && verdict !== "failed" ? 0.3 + 0.7 * Math.sqrt(Math.min(1, score / top)) : 1;
      ctx.fillStyle = palette.verdicts[verdict];
      const edge = across > 4 && down > 4 ? 1 : 0;
      ctx.fillRect(i * across, HEAD + GAP + rank * down, Math.max(1, across - edge), Math.max(1, down - edge));
    }
  }
  ctx.globalAlpha = 1;
};

const yOf = (score: number, top: number, height: number): number =>
  height - 3 - (score / top) * (height - HEAD - GAP - 6);

const dots = (ctx: Ctx, { height, palette, width, windows }: Drawing): void => {
  const { score: top } = extentOf(windows);
  const across = width / windows.length;
  const size = Math.min(5, Math.max(2, across * 0.7));
  for (const [i, window] of windows.entries()) {
    for (const { score, verdict } of window.groups) {
      ctx.globalAlpha = 0.75;
      ctx.fillStyle = palette.verdicts[verdict];
      // A failed group has no score: it lies on the ground.
      ctx.fillRect((i + 0.5) * across - size / 2, yOf(score ?? 0, top, height) - size / 2, size, size);
    }
  }
  ctx.globalAlpha = 1;
  ctx.strokeStyle = palette.cut;
  ctx.lineWidth = 1.5;
  ctx.beginPath();
  for (const [i, { cut }] of windows.entries()) {
    if (cut === null) continue;
    const y = yOf(cut, top, height);
    ctx.moveTo(i * across, y);
    ctx.lineTo((i + 1) * across, y);
  }
  ctx.stroke();
};

export const draw = (ctx: Ctx, drawing: Drawing): void => {
  const { height, mode, palette, selected, width, windows } = drawing;
  ctx.clearRect(0, 0, width, height);
  if (windows.length === 0) return;
  bars(ctx, drawing);
  if (mode === "ranks") cells(ctx, drawing);
  else dots(ctx, drawing);
  if (selected === null) return;
  const across = width / windows.length;
  ctx.strokeStyle = palette.text;
  ctx.lineWidth = 1.5;
  ctx.strokeRect(selected * across + 0.75, 0.75, Math.max(2, across - 1.5), height - 1.5);
};
