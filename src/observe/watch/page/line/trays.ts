/**
 * Places the marks of groups: each stage has a tray, and its groups fill it row by row in the order of their numbers. Marks
 * shrink as a tray fills, and marks that do not fit are counted. Invariant: every mark lies inside its tray, and marks and hidden
 * ones add up to the groups.
 */
import type { Place, TrackedGroup } from "../../../../domain/GroupPlaces.ts";

export interface Tray {
  readonly x: number;
  readonly y: number;
  readonly width: number;
  readonly height: number;
}

/** The look of a group: undecided, kept, left out or failed. */
export type Look = "open" | "kept" | "out" | "failed";

export interface GroupMark {
  readonly group: TrackedGroup;
  readonly look: Look;
  readonly x: number;
  readonly y: number;
  readonly size: number;
}

export interface Filled {
  readonly marks: readonly GroupMark[];
  readonly hidden: number;
}

const SIZES = [10, 8, 6, 5, 4] as const;

const gapOf = (size: number): number => (size >= 8 ? 3 : size >= 6 ? 2 : 1);

export const lookOf = ({ verdict }: TrackedGroup): Look =>
  verdict === undefined ? "open" : verdict === "kept" ? "kept" : verdict === "failed" ? "failed" : "out";

interface Grid {
  readonly size: number;
  readonly pitch: number;
  readonly columns: number;
  readonly room: number;
}

const gridOf = (size: number, { height, width }: Tray): Grid => {
  const pitch = size + gapOf(size);
  const along = (span: number): number => Math.max(0, Math.floor((span + gapOf(size)) / pitch));
  return { size, pitch, columns: along(width), room: along(width) * along(height) };
};

/** The largest marks that all fit, else the smallest. */
const gridFor = (count: number, tray: Tray): Grid => {
  const grids = SIZES.map((size) => gridOf(size, tray));
  return grids.find(({ room }) => room >= count) ?? grids.at(-1)!;
};

/** The groups of one tray as marks, in the coordinates in which the tray is given. */
export const fill = (groups: readonly TrackedGroup[], tray: Tray): Filled => {
  const { columns, pitch, room, size } = gridFor(groups.length, tray);
  const shown = groups.toSorted((a, b) => a.group - b.group).slice(0, room);
  const marks = shown.map((group, i) => ({
    group,
    look: lookOf(group),
    x: tray.x + (i % columns) * pitch,
    y: tray.y + Math.floor(i / columns) * pitch,
    size,
  }));
  return { marks, hidden: groups.length - shown.length };
};

export const byPlace = (groups: readonly TrackedGroup[]): ReadonlyMap<Place, readonly TrackedGroup[]> =>
  Map.groupBy(groups, ({ place }) => place);

export interface Tally {
  readonly open: number;
  readonly kept: number;
  readonly out: number;
  readonly failed: number;
}

/** The number of groups with each look. */
export const tally = (groups: readonly TrackedGroup[]): Tally => {
  const counts = { open: 0, kept: 0, out: 0, failed: 0 };
  for (const group of groups) counts[lookOf(group)] += 1;
  return counts;
};
