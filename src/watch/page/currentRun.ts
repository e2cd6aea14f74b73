/** Which run the page shows, and what the stream has told of it since it was listed. */
import type { LineView, RunCard } from "../Api.ts";
import type { Live } from "./useLive.ts";

/** The one asked for; without one the newest that runs, else the newest. Null where there is none, or none of that id. */
export const chosen = (runs: readonly RunCard[], id: string | null): RunCard | null => {
  if (id !== null) return runs.find((run) => run.id === id) ?? null;
  const newest = runs.toSorted((a, b) => b.started - a.started);
  return newest.find(({ state }) => state === "running") ?? newest[0] ?? null;
};

/** A run's card with what its stream has told since. */
export const brought = (run: RunCard, live: Pick<Live, "ended" | "line" | "step">): RunCard => {
  const step = Math.max(run.step, live.step ?? 0, live.line?.step ?? 0);
  const state = live.ended ?? run.state;
  return {
    ...run,
    step,
    last: Math.max(run.last, live.line?.at ?? 0),
    state,
    controllable: run.controllable && state === "running",
  };
};

/** The newest moment known of a run, for the slider's end. */
export const newestOf = (line: LineView | null): { readonly at: number; readonly step: number } | null =>
  line === null ? null : { at: line.at, step: line.step };
