/** Plays a run forward: the moment after some real time at a speed. */

export const speeds = [1, 10, 60] as const;
export type Speed = (typeof speeds)[number];

export const faster = (speed: Speed): Speed => speeds[(speeds.indexOf(speed) + 1) % speeds.length] ?? 1;

/** The moment shown after `elapsedMs` of real time; null once it has reached `to`. */
export const playedTime = (at: number, elapsedMs: number, speed: Speed, to: number): number | null => {
  const next = at + Math.max(0, elapsedMs) * speed;
  return next >= to ? null : next;
};
