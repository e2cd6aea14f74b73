/**
 * The sessions of our server, whatever carries them: so many at most, each ended when it has been idle for long. Enters: who wants one and
 * what to do when it ends; leaves: a place, or null when there is none. Invariant: a place is given back exactly once.
 */
export interface Place {
  /** Something came from the client: the idle time begins again. */
  readonly touch: () => void;
  readonly leave: () => void;
}

export interface SessionTable {
  readonly enter: (onIdle: () => void) => Place | null;
  readonly active: () => number;
  readonly max: number;
}

export const makeSessionTable = ({ idleMs, max }: { readonly idleMs: number; readonly max: number }): SessionTable => {
  const places = new Set<Place>();
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
      const place: Place = {
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
