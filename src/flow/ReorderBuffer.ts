/**
 * Releases windows in the order of their index, as a pure state machine. A window that arrives early waits; a retracted one holds back
 * those after it until its stage pushes it again. Invariant: `peek` gives each index in turn, and the next one only after `advance`.
 */

/** Something of a window. */
interface Indexed {
  readonly window: { readonly index: number };
}

export interface ReorderBuffer<out A> {
  /** The index to release next. */
  readonly next: number;
  readonly held: readonly A[];
}

export const start = (next: number): ReorderBuffer<never> => ({ next, held: [] });

export const push = <A extends Indexed>({ held, next }: ReorderBuffer<A>, item: A): ReorderBuffer<A> => ({
  next,
  held: [...held, item],
});

/** The one whose turn it is; undefined while it has not come. */
export const peek = <A extends Indexed>({ held, next }: ReorderBuffer<A>): A | undefined =>
  held.find(({ window }) => window.index === next);

/** Without the head, which comes again. */
export const retract = <A extends Indexed>({ held, next }: ReorderBuffer<A>): ReorderBuffer<A> => ({
  next,
  held: held.filter(({ window }) => window.index !== next),
});

/** Without the head, which goes on. */
export const advance = <A extends Indexed>(turn: ReorderBuffer<A>): ReorderBuffer<A> => ({
  ...retract(turn),
  next: turn.next + 1,
});
