/** The shown moment: the slider's scale, the line at that time, and the ways to another moment. */
import { useMemo } from "preact/hooks";
import type { LineView, RunCard, Timeline } from "../../Api.ts";
import type { Client } from "../Client.ts";
import { newestMoment } from "../currentRun.ts";
import type { Route } from "../route.ts";
import { useLoad } from "../useLoad.ts";
import { useNewest } from "../useNewest.ts";
import type { Go } from "../useRoute.ts";
import { moved, type Scale, scaleOf, timeAt } from "./scale.ts";
import { type Player, usePlayer } from "./usePlayer.ts";

const POINTS = 2000;

/** The slider's scale: what is written of the run, and on to its newest moment. */
const useTimeline = (api: Client, run: RunCard, line: LineView | null) => {
  // Marks come with it: it is read again every few steps, and when the run ends.
  const every = Math.max(5, Math.round(run.step / 100));
  const { error, value } = useLoad(
    (signal) => api.timeline(run.id, POINTS, signal),
    [run.id, run.state, Math.floor(run.step / every)],
  );
  const newest = run.state === "running" ? newestMoment(line) : null;
  const scale = useMemo(() => (value === null ? null : scaleOf(value, newest)), [value, newest?.at, newest?.step]);
  return { timeline: value, scale, error };
};

export interface Travel {
  readonly timeline: Timeline | null;
  readonly scale: Scale | null;
  readonly error: string | null;
  readonly line: LineView | null;
  readonly lineError: string | null;
  readonly player: Player;
  /** Goes to a moment; null: live. */
  readonly seek: (at: number | null) => void;
  /** Goes to a moment by the reader's hand, which pauses the player. */
  readonly jump: (at: number | null) => void;
  /** Whole steps on or back. */
  readonly step: (by: number) => void;
  /** Plays or holds. */
  readonly toggle: () => void;
}

interface TravelOptions {
  readonly api: Client;
  readonly run: RunCard;
  readonly route: Route;
  readonly go: Go;
  /** The newest line of the stream. */
  readonly line: LineView | null;
}

export const useTravel = ({ api, go, line: live, route, run }: TravelOptions): Travel => {
  const { error, scale, timeline } = useTimeline(api, run, live);
  const seek = (at: number | null): void => go({ ...route, at }, true);
  const end = scale === null ? run.last : timeAt(scale, scale.end);
  const player = usePlayer(route.at ?? end, end, seek);
  // Without a stream, as for a run that has ended, its newest moment is requested once.
  const requested: number | "newest" | null = route.at ?? (live === null ? "newest" : null);
  const past = useNewest<number | "newest", LineView>(
    requested,
    (at, signal) => api.line(run.id, at === "newest" ? null : at, signal),
    run.id,
  );
  const jump = (at: number | null): void => {
    player.stop();
    seek(at);
  };
  const step = (by: number): void => {
    if (scale === null) return;
    const next = moved(scale, route.at ?? end, by);
    jump(next >= end ? null : next);
  };
  const toggle = (): void => {
    if (player.playing) {
      player.stop();
      return;
    }
    // From the end there is nothing to play: the run is shown from its start.
    if (route.at === null && scale !== null) seek(timeAt(scale, 0));
    player.start();
  };
  const line = route.at === null ? (live ?? past.value) : past.value;
  return { timeline, scale, error, line, lineError: past.error, player, seek, jump, step, toggle };
};
