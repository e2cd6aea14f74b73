/** Plays the run forward from the shown moment, frame by frame, until it reaches the end. */
import { useEffect, useRef, useState } from "preact/hooks";
import { playedTime, type Speed } from "./play.ts";

export interface Player {
  readonly playing: boolean;
  readonly speed: Speed;
  readonly setSpeed: (speed: Speed) => void;
  readonly start: () => void;
  readonly stop: () => void;
}

/** Moments shown a second; each is a request to the server. */
const RATE_MS = 125;

export const usePlayer = (at: number, to: number, seek: (at: number | null) => void): Player => {
  const [playing, setPlaying] = useState(false);
  const [speed, setSpeed] = useState<Speed>(10);
  const newest = useRef({ at, to, seek });
  newest.current = { at, to, seek };
  useEffect(() => {
    if (!playing) return;
    let moment = newest.current.at;
    let last: number | null = null;
    let shown = 0;
    let frame = requestAnimationFrame(function step(now: number) {
      const next = last === null ? moment : playedTime(moment, now - last, speed, newest.current.to);
      last = now;
      if (next === null) {
        setPlaying(false);
        newest.current.seek(null);
        return;
      }
      moment = next;
      if (now - shown >= RATE_MS) {
        shown = now;
        newest.current.seek(moment);
      }
      frame = requestAnimationFrame(step);
    });
    return () => cancelAnimationFrame(frame);
  }, [playing, speed]);
  return { playing, speed, setSpeed, start: () => setPlaying(true), stop: () => setPlaying(false) };
};
