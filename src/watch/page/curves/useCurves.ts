/** The curves of the current run and of those laid over it; of a run that goes on, only what is new is asked for. */
import { useEffect, useRef, useState } from "preact/hooks";
import type { Curves } from "../../Api.ts";
import type { Client } from "../Client.ts";
import { appended } from "./align.ts";

const POINTS = 2000;

export interface CurvesOf {
  readonly byRun: ReadonlyMap<string, Curves>;
  readonly loading: boolean;
  readonly error: string | null;
}

interface Known {
  /** The metrics that were asked for. */
  readonly key: string;
  readonly curves: Curves;
}

export const useCurves = (api: Client, runs: readonly string[], names: readonly string[], step: number): CurvesOf => {
  const key = names.join("\n");
  const [known, setKnown] = useState<ReadonlyMap<string, Known>>(new Map());
  const [error, setError] = useState<string | null>(null);
  const newest = useRef(known);
  newest.current = known;
  const put = (run: string, curves: Curves): void => setKnown((all) => new Map(all).set(run, { key, curves }));
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
  const [run] = runs;
  const growing = useRef(false);
  useEffect(() => {
    const had = run === undefined ? undefined : newest.current.get(run);
    if (run === undefined || had?.key !== key || growing.current) return;
    const last = had.curves.steps.at(-1) ?? 0;
    if (step <= last) return;
    growing.current = true;
    const { signal } = control();
    // Beyond a few times the points that were asked for, buckets are made anew.
    const anew = had.curves.steps.length > 2 * POINTS;
    api
      .metrics(run, { name: names, points: POINTS, ...(anew ? {} : { from: last + 1 }) }, signal)
      .then((more) => put(run, anew ? more : appended(had.curves, more)), failed(signal))
      .finally(() => {
        growing.current = false;
      });
  }, [run, key, step, known]);
  const here = [...known].filter(([run, known]) => runs.includes(run) && known.key === key);
  return {
    byRun: new Map(here.map(([run, { curves }]) => [run, curves])),
    loading: names.length > 0 && here.length < runs.length && error === null,
    error,
  };
};

const control = () => {
  const controller = new AbortController();
  return { signal: controller.signal, abort: () => controller.abort() };
};
