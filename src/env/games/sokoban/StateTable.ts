/**
 * A set of visited search states, each an exact non-negative integer below 2^53. It uses open addressing in a typed array, which grows at half
 * load, so that a search allocates nothing per state.
 */
export interface StateTable {
  /** Adds a state; false when it was already there. */
  readonly add: (state: number) => boolean;
  readonly size: () => number;
}

const slotOf = (state: number): number => {
  const high = Math.floor(state / 4294967296);
  let hash = Math.imul((state | 0) ^ Math.imul(high, 0x9e3779b1), 0x85ebca6b);
  hash ^= hash >>> 15;
  hash = Math.imul(hash, 0xc2b2ae35);
  return hash ^ (hash >>> 13);
};

/** Makes a table; `capacity`, a power of two, is the number of slots at the start. */
export const makeStateTable = (capacity = 1024): StateTable => {
  let mask = capacity - 1;
  let slots = new Float64Array(capacity); // state + 1; 0 is a free slot
  let size = 0;

  const grow = (): void => {
    const old = slots;
    mask = old.length * 2 - 1;
    slots = new Float64Array(old.length * 2);
    for (const stored of old) {
      if (stored === 0) continue;
      let slot = slotOf(stored - 1) & mask;
      while (slots[slot] !== 0) slot = (slot + 1) & mask;
      slots[slot] = stored;
    }
  };

  const add = (state: number): boolean => {
    let slot = slotOf(state) & mask;
    for (;;) {
      const stored = slots[slot]!;
      if (stored === state + 1) return false;
      if (stored === 0) break;
      slot = (slot + 1) & mask;
    }
    slots[slot] = state + 1;
    size++;
    if (size * 2 > slots.length) grow();
    return true;
  };

  return { add, size: () => size };
};
