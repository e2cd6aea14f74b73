/**
 * One memory budget for all clients of a server: their unfinished messages, and answers that they have not read. Invariant: the
 * shares never exceed the budget together.
 */
export interface Share {
  /** Sets the size of the share in bytes; returns false and changes nothing if the budget is too small. */
  readonly resize: (bytes: number) => boolean;
  /** Empties the share for good. */
  readonly release: () => void;
}

export interface ByteBudget {
  readonly maxBytes: number;
  readonly usedBytes: () => number;
  readonly openShare: () => Share;
}

export const makeByteBudget = (most: number): ByteBudget => {
  let total = 0;
  return {
    maxBytes: most,
    usedBytes: () => total,
    openShare: () => {
      let mine = 0;
      let open = true;
      return {
        resize: (bytes) => {
          if (!open || total - mine + bytes > most) return false;
          total += bytes - mine;
          mine = bytes;
          return true;
        },
        release: () => {
          total -= mine;
          mine = 0;
          open = false;
        },
      };
    },
  };
};
