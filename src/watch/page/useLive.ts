/**
 * What a run tells while it goes on, by server-sent events: the newest line, the newest step, and how it ended. The stream opens itself again
 * when it breaks; until then `connected` is false and the rest stays as it was.
 */
import { useEffect, useState } from "preact/hooks";
import type { LineView, RunStatus } from "../Api.ts";
import type { Client } from "./Client.ts";

export interface Live {
  readonly line: LineView | null;
  readonly step: number | null;
  /** Newest step of which episodes are recorded. */
  readonly episodes: number | null;
  readonly ended: RunStatus | null;
  readonly connected: boolean;
  /** Whether the stream broke at least once since it opened. */
  readonly lost: boolean;
}

const nothing: Live = { line: null, step: null, episodes: null, ended: null, connected: false, lost: false };

const parsed = (event: Event): unknown => {
  if (!(event instanceof MessageEvent) || typeof event.data !== "string") return null;
  try {
    return JSON.parse(event.data);
  } catch {
    return null;
  }
};

const stepOf = (value: unknown): number | null =>
  typeof value === "object" && value !== null && "step" in value && typeof value.step === "number" ? value.step : null;

export const useLive = (api: Client, run: string | null): Live => {
  const [live, setLive] = useState(nothing);
  useEffect(() => {
    setLive(nothing);
    if (run === null) return;
    const source = new EventSource(api.live(run));
    const patch = (change: Partial<Live>): void => setLive((live) => ({ ...live, ...change }));
    source.addEventListener("open", () => patch({ connected: true, lost: false }));
    source.addEventListener("error", () => patch({ connected: false, lost: true }));
    source.addEventListener("line", (event) => {
      const line = parsed(event) as LineView | null;
      if (line !== null) patch({ line, connected: true, lost: false });
    });
    source.addEventListener("step", (event) => patch({ step: stepOf(parsed(event)) }));
    source.addEventListener("episodes", (event) => patch({ episodes: stepOf(parsed(event)) }));
    source.addEventListener("ended", (event) => {
      patch({ ended: parsed(event) as RunStatus | null });
      // It has nothing more to tell; opened again it would only say so again.
      source.close();
    });
    return () => source.close();
  }, [api, run]);
  return live;
};
