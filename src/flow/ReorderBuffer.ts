/**
 * Windows in order of their index, as a pure state machine: one that comes early is held, and one that is withdrawn holds back those after it
 * until it comes again. Invariant: `head` gives each index once it is its turn, and the next only after `passed`.
 */

/** Something of a window. */
interface Indexed {
  readonly window: { readonly index: number };
}

export interface ReorderBuffer<out A> {
  /** Whose turn it is. */
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
