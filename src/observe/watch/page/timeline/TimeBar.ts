/** The slider at the foot of every view: the whole run with its marks, the shown moment, and the way back to live. */
import { html } from "htm/preact";
import type { VNode } from "preact";
import { useMemo } from "preact/hooks";
import type { Timeline } from "../../Api.ts";
import { clock } from "../format.ts";
import { sayingOf, thinned } from "./marks.ts";
import { type Speed, speeds } from "./play.ts";
import { moved, positionAt, type Scale, stepAt, timeAt } from "./scale.ts";
import type { Player } from "./usePlayer.ts";

const BINS = 240;

export interface TimeBarProps {
  readonly timeline: Timeline;
  readonly scale: Scale;
  /** Null: live, or the end of a run that is over. */
  readonly at: number | null;
  /** The run goes on. */
  readonly running: boolean;
  readonly player: Player;
  readonly seek: (at: number | null) => void;
  /** Plays or holds. */
  readonly toggle: () => void;
}

const Marks = ({ scale, seek, timeline }: Pick<TimeBarProps, "scale" | "seek" | "timeline">): VNode => {
  const marks = useMemo(() => thinned(timeline.marks, scale, BINS), [timeline.marks, scale]);
  return html`<div class="ticks">
    ${marks.map(
      (
        mark,
      ) => html`<button key=${`${mark.kind} ${mark.at}`} type="button" tabindex="-1" class="tick ${mark.kind}" aria-hidden="true"
        style=${{ left: `${mark.share * 100}%` }} title=${sayingOf(mark)} onClick=${() => seek(mark.at)}></button>`,
    )}
  </div>`;
};

const Slider = ({ at, scale, seek }: Pick<TimeBarProps, "at" | "scale" | "seek">): VNode => {
  const end = timeAt(scale, scale.end);
  const shown = at ?? end;
  const position = positionAt(scale, shown);
  const keys: Readonly<Record<string, () => number | null>> = {
    ArrowLeft: () => moved(scale, shown, -1),
    ArrowDown: () => moved(scale, shown, -1),
    ArrowRight: () => moved(scale, shown, 1),
    ArrowUp: () => moved(scale, shown, 1),
    PageDown: () => moved(scale, shown, -10),
    PageUp: () => moved(scale, shown, 10),
    Home: () => timeAt(scale, 0),
    End: () => null,
  };
  const onKeyDown = (event: KeyboardEvent): void => {
    const key = keys[event.key];
    if (key === undefined || event.ctrlKey || event.metaKey || event.altKey) return;
    event.preventDefault();
    const next = key();
    seek(next !== null && next >= end ? null : next);
  };
  const onInput = (event: InputEvent & { readonly currentTarget: HTMLInputElement }): void => {
    const next = Number(event.currentTarget.value);
    seek(next >= scale.end - 1e-6 ? null : timeAt(scale, next));
  };
  return html`<input type="range" class="slider" aria-label="Moment of the run" min="0" max=${scale.end} step="any" value=${position}
    aria-valuetext="step ${stepAt(scale, shown)}, ${clock(shown)}" style=${{ "--share": `${(position / scale.end) * 100}%` }}
    onInput=${onInput} onKeyDown=${onKeyDown} />`;
};

export const TimeBar = ({ at, player, running, scale, seek, timeline, toggle }: TimeBarProps): VNode => {
  const end = timeAt(scale, scale.end);
  const shown = at ?? end;
  return html`<footer class="timebar" aria-label="Time travel">
    <button type="button" class="icon" aria-label=${player.playing ? "Hold" : "Play"} title="${player.playing ? "Hold" : "Play the run"} (space)" onClick=${toggle}>
      ${player.playing ? "❚❚" : "▶"}</button>
    <span class="segments" role="group" aria-label="Speed">
      ${speeds.map(
        (speed: Speed) =>
          html`<button key=${speed} type="button" aria-pressed=${player.speed === speed} onClick=${() => player.setSpeed(speed)}>${speed}×</button>`,
      )}
    </span>
    <div class="track">
      <${Slider} at=${at} scale=${scale} seek=${seek} />
      <${Marks} scale=${scale} seek=${seek} timeline=${timeline} />
    </div>
    <output class="moment">step ${stepAt(scale, shown).toLocaleString("en-US")} <span class="muted">${clock(shown, timeline.to)}</span></output>
    <button type="button" class="live ${at === null ? "on" : ""}" aria-pressed=${at === null} onClick=${() => seek(null)}
      title=${running ? "Follow the run (l)" : "To the end of the run (l)"}><i></i>${running ? "live" : "end"}</button>
  </footer>`;
};
