/** The objects on the cells of Sokoban and FrozenLake, as SVG in a square of 16 x 16; drawing.css has the colours. */
import { html } from "htm/preact";
import type { VNode } from "preact";
import type { LakeCell, SokobanCell } from "./Drawing.ts";

type Shape = VNode | readonly VNode[] | null;

/** Side of a cell. */
export const side = 16;

const ground = (name: string) => html`<rect class=${`d-${name}`} width="16" height="16" />`;

const player = (extra = "") => html`<g class=${`d-player ${extra}`}>
  <circle cx="8" cy="4.9" r="2.7" />
  <path d="M3.2 14 C3.2 10.4 5.2 8.6 8 8.6 S12.8 10.4 12.8 14 Z" />
</g>`;

const target = html`<g class="d-target">
  <circle cx="8" cy="8" r="4.6" />
  <circle class="d-target-dot" cx="8" cy="8" r="1.7" />
</g>`;

const box = (done: boolean) => html`<g class=${done ? "d-box d-done" : "d-box"}>
  <rect x="2" y="2" width="12" height="12" rx="1.4" />
  <path d=${done ? "M4.8 8.4 L7.2 10.8 L11.4 5.4" : "M4.4 4.4 L11.6 11.6 M11.6 4.4 L4.4 11.6"} />
</g>`;

const wall = html`<g>
  ${ground("wall")}
  <path class="d-mortar" d="M0 5.33 H16 M0 10.67 H16 M5 0 V5.33 M13 0 V5.33 M9 5.33 V10.67 M1 5.33 V10.67 M5 10.67 V16 M13 10.67 V16" />
</g>`;

const unknown = html`<g>
  ${ground("unknown")}
  <circle class="d-unknown-dot" cx="8" cy="8" r="1" />
</g>`;

export const sokobanShape = (cell: SokobanCell): Shape => {
  switch (cell) {
    case "wall":
      return wall;
    case "unknown":
      return unknown;
    case "floor":
      return ground("floor");
    case "target":
      return html`${ground("floor")}${target}`;
    case "box":
      return html`${ground("floor")}${box(false)}`;
    case "box on target":
      return html`${ground("floor")}${box(true)}`;
    case "player":
      return html`${ground("floor")}${player()}`;
    case "player on target":
      return html`${ground("floor")}<circle class="d-ring" cx="8" cy="8" r="6.8" />${player("d-over")}`;
  }
};

const ice = html`${ground("ice")}<path class="d-glint" d="M3 6.2 L6.2 3 M9.6 13 L13 9.6" />`;

const hole = html`<g class="d-hole">
  <ellipse cx="8" cy="8.6" rx="6.2" ry="5.4" />
  <path d="M2.6 6.6 C4.2 3.6 11.8 3.6 13.4 6.6" />
</g>`;

const goal = html`<g class="d-goal">
  <path class="d-pole" d="M5 2.4 V14" />
  <path d="M5 2.6 L13 5.3 L5 8 Z" />
</g>`;

/** Head and arms of a player who fell in. */
const sunk = html`<g class="d-player d-lost">
  <path class="d-arms" d="M4.6 4.6 L6.2 9.6 M11.4 4.6 L9.8 9.6" />
  <circle cx="8" cy="8.2" r="2.6" />
</g>`;

export const lakeShape = (cell: LakeCell): Shape => {
  switch (cell) {
    case "ice":
      return ice;
    case "start":
      return html`${ice}<circle class="d-start" cx="8" cy="8" r="4.6" />`;
    case "hole":
      return html`${ground("ice")}${hole}`;
    case "goal":
      return html`${ground("ice")}${goal}`;
    case "player":
      return html`${ground("ice")}${player()}`;
    case "player in hole":
      return html`${ground("ice")}${hole}${sunk}`;
    case "player on goal":
      return html`${ground("ice")}${goal}<g transform="translate(4.4 4.4) scale(.72)">${player("d-over")}</g>`;
  }
};
