/** All windows at a glance; one of them is chosen with the pointer or with the arrow keys. */
import { html } from "htm/preact";
import type { VNode } from "preact";
import { useLayoutEffect, useRef, useState } from "preact/hooks";
import type { WindowView } from "../../Api.ts";
import { number, percent } from "../format.ts";
import { colour } from "../theme.ts";
import { draw, type Mode, type Palette } from "./draw.ts";
import { indexAt, keptShare, tallyOf } from "./windows.ts";

const HEIGHT = 300;

interface WindowMapProps {
  readonly windows: readonly WindowView[];
  readonly mode: Mode;
  readonly selected: number;
  readonly onSelect: (index: number) => void;
  readonly theme: "light" | "dark";
}

const paletteNow = (): Palette => ({
  ground: colour("--sunk"),
  line: colour("--line"),
  text: colour("--text"),
  cut: colour("--bad"),
  verdicts: {
    kept: colour("--accent"),
    surplus: colour("--blocked"),
    rule: colour("--blocked"),
    zero: colour("--starved"),
    failed: colour("--bad"),
  },
});

export const wordsOf = (window: WindowView): string => {
  const { all, kept } = tallyOf([window]);
  const cut = window.cut === null ? "nothing kept" : `cut at ${number(window.cut)}`;
  return `Step ${window.step}: ${kept} of ${all} groups kept (${percent(keptShare(window))}), ${cut}`;
};

export const WindowMap = ({ mode, onSelect, selected, theme, windows }: WindowMapProps): VNode => {
  const canvas = useRef<HTMLCanvasElement>(null);
  const [width, setWidth] = useState(0);
  const [hovered, setHovered] = useState<number | null>(null);
  useLayoutEffect(() => {
    const element = canvas.current?.parentElement;
    if (element === null || element === undefined) return;
    const observer = new ResizeObserver(() => setWidth(element.clientWidth));
    observer.observe(element);
    return () => observer.disconnect();
  }, []);
  useLayoutEffect(() => {
    const element = canvas.current;
    const ctx = element?.getContext("2d");
    if (element === null || ctx === null || ctx === undefined || width === 0) return;
    element.width = width * devicePixelRatio;
    element.height = HEIGHT * devicePixelRatio;
    ctx.setTransform(devicePixelRatio, 0, 0, devicePixelRatio, 0, 0);
    draw(ctx, { windows, mode, selected, width, height: HEIGHT, palette: paletteNow() });
  }, [windows, mode, selected, width, theme]);
  const at = (event: PointerEvent): number | null => indexAt(event.offsetX, width, windows.length);
  const select = (index: number): void => onSelect(Math.max(0, Math.min(windows.length - 1, index)));
  const keys: Readonly<Record<string, number>> = {
    ArrowLeft: selected - 1,
    ArrowDown: selected - 1,
    ArrowRight: selected + 1,
    ArrowUp: selected + 1,
    PageUp: selected + 10,
    PageDown: selected - 10,
    Home: 0,
    End: windows.length - 1,
  };
  const shown = windows[hovered ?? selected];
  return html`<div class="windowmap">
    <div class="canvasbox"><canvas ref=${canvas} tabindex="0" role="slider" aria-label="Window" aria-valuemin="0" aria-valuemax=${windows.length - 1}
      aria-valuenow=${selected} aria-valuetext=${windows[selected] === undefined ? "" : wordsOf(windows[selected])}
      onPointerMove=${(event: PointerEvent) => setHovered(at(event))} onPointerLeave=${() => setHovered(null)}
      onClick=${(event: PointerEvent) => select(at(event) ?? selected)}
      onKeyDown=${(event: KeyboardEvent) => {
        const next = keys[event.key];
        if (next === undefined) return;
        event.preventDefault();
        select(next);
      }}></canvas></div>
    <p class="maplabels muted"><span>step ${windows[0]?.step ?? ""}</span><output>${shown === undefined ? "" : wordsOf(shown)}</output><span>step ${windows.at(-1)?.step ?? ""}</span></p>
  </div>`;
};
