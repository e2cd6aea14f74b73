/**
 * One budget of memory for all clients of a server: what of their messages has arrived and is not whole yet, and what of our answers they
 * have not read. Every holder has a share whose size it states; invariant: the shares never exceed the budget together.
 */
export interface Share {
  /** States the bytes that are held, in place of those stated before; false, and nothing changed, where the budget does not have them. */
  readonly resize: (bytes: number) => boolean;
  /** The share is empty from here on and stays so. */
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
