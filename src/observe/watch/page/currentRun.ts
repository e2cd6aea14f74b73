/** The run that the page shows, with the news of the stream, and its state at a past moment. */
import type { LineView, RunCard, RunStatus, Timeline } from "../Api.ts";
import { type Scale, stepAt } from "./timeline/scale.ts";
import type { Live } from "./useLive.ts";

/**
 * The requested run; without a request the newest running one, else the newest. Null if there is none, or none with that id.
 */
export const chooseRun = (runs: readonly RunCard[], id: string | null): RunCard | null => {
  if (id !== null) return runs.find((run) => run.id === id) ?? null;
  const newest = runs.toSorted((a, b) => b.started - a.started);
  return newest.find(({ state }) => state === "running") ?? newest[0] ?? null;
};

/** A run's card with the later news of its stream. */
export const withNews = (run: RunCard, live: Pick<Live, "ended" | "line" | "step">): RunCard => {
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

/** The state of a run at a moment: that of its last end before, unless the run was resumed since. */
const stateAt = ({ marks }: Timeline, at: number): RunStatus => {
  const last = marks.findLast((mark) => (mark.kind === "end" || mark.kind === "resume") && mark.at <= at);
  return last?.outcome ?? "running";
};

/** A run's card as it was at a past moment; as it is for a null moment, or before its timeline is read. */
export const cardAt = (run: RunCard, at: number | null, scale: Scale | null, timeline: Timeline | null): RunCard =>
  at === null || scale === null || timeline === null
    ? run
    : { ...run, step: stepAt(scale, at), last: at, state: stateAt(timeline, at), message: null };

/** The newest moment known of a run, for the slider's end. */
export const newestMoment = (line: LineView | null): { readonly at: number; readonly step: number } | null =>
  line === null ? null : { at: line.at, step: line.step };
