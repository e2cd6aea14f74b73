/**
 * Releases windows in the order of their index, as a pure state machine. A window that arrives early waits; a retracted one holds back
 * those after it until its stage pushes it again. Invariant: `peek` gives each index in turn, and the next one only after `advance`.
 */

/** An item belongs to a window, which is the set of groups of one update. */
interface Indexed {
  readonly window: { readonly index: number };
}

export interface ReorderBuffer<out A> {
  /** The index to release next. */
  readonly next: number;
  /** Items that arrived and have not been released, in any order. */
  readonly held: readonly A[];
}

export const start = (next: number): ReorderBuffer<never> => ({ next, held: [] });

export const push = <A extends Indexed>({ held, next }: ReorderBuffer<A>, item: A): ReorderBuffer<A> => ({
  next,
  held: [...held, item],
});

/** The item with index `next`; undefined until it arrives. */
export const peek = <A extends Indexed>({ held, next }: ReorderBuffer<A>): A | undefined =>
  held.find(({ window }) => window.index === next);

/** Takes the item with index `next` out, and goes on waiting for that index: a filter that needs more groups pushes its window again. */
export const retract = <A extends Indexed>({ held, next }: ReorderBuffer<A>): ReorderBuffer<A> => ({
  next,
  held: held.filter(({ window }) => window.index !== next),
});

/** Takes the item with index `next` out, and waits for the next index. */
export const advance = <A extends Indexed>(buffer: ReorderBuffer<A>): ReorderBuffer<A> => ({
  ...retract(buffer),
  next: buffer.next + 1,
});
