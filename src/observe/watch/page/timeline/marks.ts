/** Marks of a run thinned to what a slider can show: of each kind at most one a bin, which counts those it stands for. */
import type { Mark } from "../../Api.ts";
import { positionAt, type Scale } from "./scale.ts";

export interface ShownMark extends Mark {
  /** Share of the slider's width. */
  readonly share: number;
  /** Marks of its kind that it stands for, itself included. */
  readonly count: number;
}

export const thinned = (marks: readonly Mark[], scale: Scale, bins: number): readonly ShownMark[] => {
  const shown = new Map<string, ShownMark>();
  for (const mark of marks) {
    const share = positionAt(scale, mark.at) / scale.end;
    const key = `${mark.kind} ${Math.round(share * bins)}`;
    const other = shown.get(key);
    shown.set(key, other === undefined ? { ...mark, share, count: 1 } : { ...other, count: other.count + 1 });
  }
  return [...shown.values()];
};

/** The text of a mark on hover. */
export const sayingOf = ({ count, kind, step, text }: ShownMark): string =>
  `step ${step}: ${text === "" ? kind : text}${count > 1 ? `, and ${count - 1} more` : ""}`;
