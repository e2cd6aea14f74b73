/** A component's request to the server: the newest answer, whether another is on its way, and why the last one failed. */
import { useEffect, useRef, useState } from "preact/hooks";

export interface Loaded<A> {
  /** The newest answer, kept while the next is on its way. */
  readonly value: A | null;
  readonly loading: boolean;
  readonly error: string | null;
}

/**
 * Sends the request again whenever `keys` change; only the newest is answered. With `fresh`, an answer to other keys is dropped
 * at once. A null `ask` sends nothing.
 */
export const useLoad = <A>(
  ask: ((signal: AbortSignal) => Promise<A>) | null,
  keys: readonly unknown[],
  { fresh = false }: { readonly fresh?: boolean } = {},
): Loaded<A> => {
  const [state, setState] = useState<Loaded<A>>({ value: null, loading: ask !== null, error: null });
  const newestRequest = useRef(0);
  useEffect(() => {
    if (ask === null) return;
    const controller = new AbortController();
    const mine = ++newestRequest.current;
    setState(({ value }) => ({ value: fresh ? null : value, loading: true, error: null }));
    ask(controller.signal).then(
      (value) => mine === newestRequest.current && setState({ value, loading: false, error: null }),
      (cause: unknown) => {
        if (controller.signal.aborted || mine !== newestRequest.current) return;
        const error = cause instanceof Error ? cause.message : String(cause);
        setState(({ value }) => ({ value, loading: false, error }));
      },
    );
    return () => controller.abort();
  }, [...keys, ask === null]);
  return state;
};
