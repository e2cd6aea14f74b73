/**
 * The news of a running run, by server-sent events: the newest line, the newest step, and the end. The stream opens itself again
 * when it breaks; until then `connected` is false and the rest stays.
 */
import { useEffect, useState } from "preact/hooks";
import type { LineView, RunStatus } from "../Api.ts";
import type { Client } from "./Client.ts";
import { listen } from "./stream.ts";

export interface Live {
  readonly line: LineView | null;
  readonly step: number | null;
  /** Newest step of which episodes are recorded. */
  readonly episodes: number | null;
  readonly ended: RunStatus | null;
  readonly connected: boolean;
  /** True if the stream broke at least once since it opened. */
  readonly lost: boolean;
}

const nothing: Live = { line: null, step: null, episodes: null, ended: null, connected: false, lost: false };

const parsed = (data: string): unknown => {
  try {
    return JSON.parse(data);
  } catch {
    return null;
  }
};

const stepOf = (value: unknown): number | null =>
  typeof value === "object" && value !== null && "step" in value && typeof value.step === "number" ? value.step : null;

/** The contents of a message; null for an unknown one. */
const changeOf = (event: string, value: unknown): Partial<Live> | null => {
  switch (event) {
    case "line":
      return value === null ? null : { line: value as LineView, connected: true, lost: false };
    case "step":
      return { step: stepOf(value) };
    case "episodes":
      return { episodes: stepOf(value) };
    case "ended":
      return { ended: value as RunStatus | null };
    default:
      return null;
  }
};

export const useLive = (api: Client, run: string | null): Live => {
  const [live, setLive] = useState(nothing);
  useEffect(() => {
    setLive(nothing);
    if (run === null) return;
    const patch = (change: Partial<Live>): void => setLive((live) => ({ ...live, ...change }));
    let ended = false;
    const close = listen((signal) => api.live(run, signal), {
      open: () => patch({ connected: true, lost: false }),
      broke: () => {
        patch({ connected: false, lost: true });
        if (ended) close();
      },
      message: ({ data, event }) => {
        const change = changeOf(event, parsed(data));
        if (change !== null) patch(change);
        // It stays open: the server of a run that was killed stays while somebody listens.
        if (event === "ended") ended = true;
      },
    });
    return close;
  }, [api, run]);
  return live;
};

/** The newest steps of runs that go on, by their streams. */
export const useSteps = (api: Client, runs: readonly string[]): ReadonlyMap<string, number> => {
  const [steps, setSteps] = useState<ReadonlyMap<string, number>>(new Map());
  useEffect(() => {
    const closes = runs.map((run) => {
      const close = listen((signal) => api.live(run, signal), {
        open: () => undefined,
        broke: () => undefined,
        message: ({ data, event }) => {
          const step = event === "step" ? stepOf(parsed(data)) : null;
          if (step !== null) setSteps((all) => new Map(all).set(run, step));
          if (event === "ended") close();
        },
      });
      return close;
    });
    return () => {
      for (const close of closes) close();
    };
  }, [api, runs.join("\n")]);
  return steps;
};
