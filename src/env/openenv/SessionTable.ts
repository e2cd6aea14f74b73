/**
 * The sessions of our server over either transport: at most `max`, each ended after `idleMs` without a message. Invariant: a session has a place in
 * the table, which it gives back exactly once.
 */
export interface SessionPlace {
  /** Restarts the idle time, because the client has sent something. */
  readonly touch: () => void;
  readonly leave: () => void;
}

export interface SessionTable {
  /** Takes a place, or gives null if the table is full. `onIdle` is called after an idle session has lost its place. */
  readonly enter: (onIdle: () => void) => SessionPlace | null;
  readonly active: () => number;
  readonly max: number;
}

export const makeSessionTable = ({ idleMs, max }: { readonly idleMs: number; readonly max: number }): SessionTable => {
  const places = new Set<SessionPlace>();
  return {
    max,
    active: () => places.size,
    enter: (onIdle) => {
      if (places.size >= max) return null;
      const timer = setTimeout(() => {
        place.leave();
        onIdle();
      }, idleMs);
      timer.unref();
      const place: SessionPlace = {
        touch: () => {
          if (places.has(place)) timer.refresh();
        },
        leave: () => {
          clearTimeout(timer);
          places.delete(place);
        },
      };
      places.add(place);
      return place;
    },
  };
};
