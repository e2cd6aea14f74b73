/**
 * The sessions of our server over either transport: at most `max`, each ended after `idleMs` without a message. A session holds a place in
 * the table; a place is given back exactly once.
 */
export interface Place {
  /** Something came from the client: the idle time begins again. */
  readonly touch: () => void;
  readonly leave: () => void;
}

export interface SessionTable {
  /** A place, or null when all are taken. `onIdle` is called after an idle session lost its place. */
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
