/** A drawing as SVG, drawn to the width it is given. Cells that differ from `before` are framed. */
import { html } from "htm/preact";
import type { VNode } from "preact";
import { type CubeDrawing, type Drawing, type Face, faces, type SudokuDrawing, type TilesDrawing } from "./Drawing.ts";
import { lakeShape, side, sokobanShape } from "./shapes.ts";
import { changes, words } from "./words.ts";

interface Content {
  readonly width: number;
  readonly height: number;
  readonly content: unknown;
}

interface Place {
  readonly x: number;
  readonly y: number;
}

const frame = ({ x, y }: Place, size: number) =>
  html`<rect class="d-changed" x=${x + 0.6} y=${y + 0.6} width=${size - 1.2} height=${size - 1.2} rx="1.5" />`;

const grid = <Cell>(
  { cells, cols, rows }: { readonly cells: readonly Cell[]; readonly cols: number; readonly rows: number },
  shape: (cell: Cell, at: number) => unknown,
  changed: ReadonlySet<number>,
): Content => {
  const placeOf = (at: number): Place => ({ x: side * (at % cols), y: side * Math.floor(at / cols) });
  const content = html`
    ${cells.map((cell, at) => {
      const { x, y } = placeOf(at);
      return html`<g key=${at} transform=${`translate(${x} ${y})`}>${shape(cell, at)}</g>`;
    })}
    ${[...changed].map((at) => frame(placeOf(at), side))}
  `;
  return { width: side * cols, height: side * rows, content };
};

/** Tiles above the last colour share it. */
const lastColour = 12;

const tileShape = (tile: number): unknown => {
  if (tile === 0) return html`<rect class="d-slot" x="1" y="1" width="14" height="14" rx="1.6" />`;
  const digits = String(tile);
  const size = digits.length < 3 ? 7 : digits.length < 4 ? 5.6 : digits.length < 5 ? 4.4 : 18 / digits.length;
  const colour = `d-tile d-tile-${Math.min(Math.log2(tile), lastColour)}`;
  return html`<g class=${colour}>
    <rect x="1" y="1" width="14" height="14" rx="1.6" />
    <text x="8" y=${8 + 0.36 * size} font-size=${size}>${digits}</text>
  </g>`;
};

const tiles = (drawing: TilesDrawing, changed: ReadonlySet<number>): Content => {
  const { content, height, width } = grid(drawing, tileShape, changed);
  return { width, height, content: html`<rect class="d-board" width=${width} height=${height} rx="2" />${content}` };
};

const sudoku = (drawing: SudokuDrawing, changed: ReadonlySet<number>): Content => {
  const { box, cols } = drawing;
  const size = cols > 9 ? 8 : 10;
  const board = grid(
    drawing,
    ({ conflict, given, number }) => {
      const kind = given === true ? "d-given" : given === false && number !== 0 ? "d-placed" : "";
      return html`<g class=${`d-cell ${kind} ${conflict ? "d-conflict" : ""}`}>
        <rect width="16" height="16" />
        ${number === 0 ? null : html`<text x="8" y=${8 + 0.36 * size} font-size=${size}>${number}</text>`}
      </g>`;
    },
    changed,
  );
  const lines = Array.from({ length: cols + 1 }, (_, at) => {
    const kind = at % box === 0 ? "d-line d-thick" : "d-line";
    const [from, to] = [side * at, side * cols];
    return html`<path class=${kind} d=${`M${from} 0 V${to} M0 ${from} H${to}`} />`;
  });
  return { ...board, content: html`${board.content}${lines}` };
};

const sticker = 12;
const net: Readonly<Record<Face, readonly [col: number, row: number]>> = {
  U: [1, 0],
  L: [0, 1],
  F: [1, 1],
  R: [2, 1],
  B: [3, 1],
  D: [1, 2],
};
const gap = 3;

/** The cube unfolded: the back is to the right of the right face. */
const cube = (drawing: CubeDrawing, changed: ReadonlySet<number>): Content => {
  const pitch = 2 * sticker + gap;
  const content = faces.map((face, index) => {
    const [col, row] = net[face];
    const [x, y] = [col * pitch, row * pitch];
    return html`<g key=${face} transform=${`translate(${x} ${y})`}>
      ${drawing.faces[face].map((colour, at) => {
        const place = { x: sticker * (at % 2), y: sticker * Math.floor(at / 2) };
        return html`<g>
          <rect class=${`d-sticker d-colour-${colour}`} x=${place.x + 0.4} y=${place.y + 0.4} width=${sticker - 0.8} height=${sticker - 0.8} rx="1.6" />
          ${changed.has(4 * index + at) ? frame(place, sticker) : null}
        </g>`;
      })}
      <text class="d-face" x=${sticker} y=${sticker + 2.4} font-size="6.5">${face}</text>
    </g>`;
  });
  return { width: 4 * pitch - gap, height: 3 * pitch - gap, content };
};

const contentOf = (drawing: Drawing, changed: ReadonlySet<number>): Content => {
  switch (drawing.kind) {
    case "sokoban":
      return grid(drawing, sokobanShape, changed);
    case "frozen_lake":
      return grid(drawing, lakeShape, changed);
    case "game_2048":
      return tiles(drawing, changed);
    case "sudoku":
      return sudoku(drawing, changed);
    case "rubikscube":
      return cube(drawing, changed);
  }
};

interface PictureProps {
  readonly drawing: Drawing;
  readonly before?: Drawing | null;
}

export const Picture = ({ before = null, drawing }: PictureProps): VNode => {
  const { content, height, width } = contentOf(drawing, changes(before, drawing));
  const label = words(drawing);
  return html`<svg class=${`drawing d-kind-${drawing.kind}`} viewBox=${`-1 -1 ${width + 2} ${height + 2}`} role="img" aria-label=${label}>
    ${content}
  </svg>` as VNode;
};
