/**
 * Windows in order of their index, as a pure state machine: one that comes early is held, and one that is withdrawn holds back those after it
 * until it comes again. Invariant: `head` gives each index once it is its turn, and the next only after `passed`.
 */

/** Something of a window. */
interface Indexed {
  readonly window: { readonly index: number };
}

export interface InTurn<out A> {
  /** Whose turn it is. */
  readonly next: number;
  readonly held: readonly A[];
}

export const start = (next: number): InTurn<never> => ({ next, held: [] });

export const come = <A extends Indexed>({ held, next }: InTurn<A>, item: A): InTurn<A> => ({
  next,
  held: [...held, item],
});

/** The one whose turn it is; undefined while it has not come. */
export const head = <A extends Indexed>({ held, next }: InTurn<A>): A | undefined =>
  held.find(({ window }) => window.index === next);

/** Without the head, which comes again. */
export const withdrawn = <A extends Indexed>({ held, next }: InTurn<A>): InTurn<A> => ({
  next,
  held: held.filter(({ window }) => window.index !== next),
});

/** Without the head, which goes on. */
export const passed = <A extends Indexed>(turn: InTurn<A>): InTurn<A> => ({ ...withdrawn(turn), next: turn.next + 1 });
