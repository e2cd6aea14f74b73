/** The curves of the current run and of those laid over it. For running runs only the new part is requested. */
import { useEffect, useRef, useState } from "preact/hooks";
import type { Curves } from "../../Api.ts";
import type { Client } from "../Client.ts";
import { appended } from "./align.ts";

const POINTS = 2000;

export interface RunCurves {
  readonly byRun: ReadonlyMap<string, Curves>;
  readonly loading: boolean;
  readonly error: string | null;
}

interface LoadedCurves {
  /** The requested metrics. */
  readonly key: string;
  readonly curves: Curves;
}

/** A run, and its newest known step. */
export interface GrowingRun {
  readonly id: string;
  readonly step: number;
}

export const useCurves = (api: Client, grown: readonly GrowingRun[], names: readonly string[]): RunCurves => {
  const key = names.join("\n");
  const runs = grown.map(({ id }) => id);
  const [loaded, setLoaded] = useState<ReadonlyMap<string, LoadedCurves>>(new Map());
  const [error, setError] = useState<string | null>(null);
  const newest = useRef(loaded);
  newest.current = loaded;
  const put = (run: string, curves: Curves): void => setLoaded((all) => new Map(all).set(run, { key, curves }));
  const failed = (signal: AbortSignal) => (cause: unknown) => {
    if (!signal.aborted) setError(cause instanceof Error ? cause.message : String(cause));
  };
  useEffect(() => {
    if (names.length === 0) return;
    const { abort, signal } = control();
    setError(null);
    for (const run of runs.filter((run) => newest.current.get(run)?.key !== key)) {
      api.metrics(run, { name: names, points: POINTS }, signal).then((curves) => put(run, curves), failed(signal));
    }
    return abort;
  }, [api, key, runs.join("\n")]);
  const growing = useRef(new Set<string>());
  useEffect(() => {
    for (const { id, step } of grown) {
      const existing = newest.current.get(id);
      const last = existing?.curves.steps.at(-1) ?? 0;
      if (existing?.key !== key || step <= last || growing.current.has(id)) continue;
      growing.current.add(id);
      const { signal } = control();
      // Beyond a few times the requested points, the buckets are requested again.
      const anew = existing.curves.steps.length > 2 * POINTS;
      api
        .metrics(id, { name: names, points: POINTS, ...(anew ? {} : { from: last + 1 }) }, signal)
        .then((more) => put(id, anew ? more : appended(existing.curves, more)), failed(signal))
        .finally(() => growing.current.delete(id));
    }
  }, [grown.map(({ id, step }) => `${id} ${step}`).join("\n"), key, loaded]);
  const current = [...loaded].filter(([run, loaded]) => runs.includes(run) && loaded.key === key);
  return {
    byRun: new Map(current.map(([run, { curves }]) => [run, curves])),
    loading: names.length > 0 && current.length < runs.length && error === null,
    error,
  };
};

const control = () => {
  const controller = new AbortController();
  return { signal: controller.signal, abort: () => controller.abort() };
};
