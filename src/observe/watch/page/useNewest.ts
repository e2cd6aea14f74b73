/**
 * Answers to a request that changes faster than its answers come, as while the slider is dragged: one is on its way at a time,
 * then the newest is sent. So there is something to show even if every answer is late.
 */
import { useEffect, useRef, useState } from "preact/hooks";
import type { Loaded } from "./useLoad.ts";

export const useNewest = <K, A>(
  key: K | null,
  ask: (key: K, signal: AbortSignal) => Promise<A>,
  /** The subject of the requests; another one drops the answer. */
  about: unknown,
): Loaded<A> => {
  const [state, setState] = useState<Loaded<A>>({ value: null, loading: key !== null, error: null });
  const waitingKey = useRef<K | null>(null);
  const busy = useRef<AbortController | null>(null);
  const pump = (): void => {
    const next = waitingKey.current;
    if (busy.current !== null || next === null) return;
    waitingKey.current = null;
    const controller = new AbortController();
    busy.current = controller;
    const done = (change: Partial<Loaded<A>>): void => {
      if (busy.current !== controller) return;
      busy.current = null;
      setState((state) => ({ ...state, error: null, ...change, loading: waitingKey.current !== null }));
      pump();
    };
    ask(next, controller.signal).then(
      (value) => done({ value }),
      (cause: unknown) => done({ error: cause instanceof Error ? cause.message : String(cause) }),
    );
  };
  useEffect(() => {
    setState({ value: null, loading: false, error: null });
    return () => {
      busy.current?.abort();
      busy.current = null;
    };
  }, [about]);
  useEffect(() => {
    if (key === null) return;
    waitingKey.current = key;
    pump();
  }, [key, about]);
  return state;
};
