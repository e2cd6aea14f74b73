/**
 * The page's typed requests to the server; a failed answer is an Error with a message for people. A signal can cut every request.
 * Each carries the token if the page has it, because a public server always needs it.
 */

import type { Control } from "../../../domain/Control.ts";
import type {
  Comparison,
  Curves,
  EpisodePage,
  GroupAnswer,
  LineView,
  MetricCard,
  RunCard,
  RunSummary,
  Scenes,
  Timeline,
  WindowView,
} from "../Api.ts";
import * as token from "./token.ts";

type Values = Readonly<Record<string, string | number | boolean | readonly string[] | null | undefined>>;

/** A refusal by the run or the server, in its words. */
export class RequestRefused extends Error {
  readonly status: number;
  constructor(status: number, message: string) {
    super(message);
    this.status = status;
  }
}

/** `?name=a&name=b&from=1` of the values that are set; empty without any. */
export const query = (values: Values): string => {
  const search = new URLSearchParams();
  for (const [key, value] of Object.entries(values)) {
    if (value === null || value === undefined) continue;
    for (const one of Array.isArray(value) ? value : [value]) search.append(key, String(one));
  }
  const text = search.toString();
  return text === "" ? "" : `?${text}`;
};

const messageOf = async (response: Response): Promise<string> => {
  const text = await response.text();
  try {
    const value: unknown = JSON.parse(text);
    if (typeof value === "object" && value !== null && "error" in value) return String(value.error);
  } catch {
    // Not ours: its status says enough.
  }
  return `The server answered ${response.status}.`;
};

/** True if the server refused the token of the request, or its absence. */
export const isLocked = (cause: unknown): boolean => cause instanceof RequestRefused && cause.status === 401;

const fetchAnswer = async (path: string, { headers, ...init }: RequestInit = {}): Promise<Response> => {
  const storedToken = token.read();
  const all = storedToken === null ? { ...headers } : { authorization: `Bearer ${storedToken}`, ...headers };
  const response = await fetch(path, { ...init, headers: all }).catch((cause: unknown) => {
    if (cause instanceof DOMException && cause.name === "AbortError") throw cause;
    throw new Error("The page's server does not answer. Is `millrace watch` still running?");
  });
  if (!response.ok) throw new RequestRefused(response.status, await messageOf(response));
  return response;
};

const runPath = (run: string): string => `/api/runs/${encodeURIComponent(run)}`;

const get = async <A>(path: string, signal: AbortSignal | undefined): Promise<A> => {
  const response = await fetchAnswer(path, signal === undefined ? {} : { signal });
  return (await response.json()) as A;
};

export interface EpisodeQuery {
  readonly from?: number;
  readonly to?: number;
  readonly split?: "train" | "val";
  readonly tag?: string;
  readonly success?: boolean;
  readonly verdict?: string;
  readonly offset?: number;
  readonly limit?: number;
}

export const client = {
  runs: (signal?: AbortSignal) => get<readonly RunCard[]>("/api/runs", signal),
  run: (run: string, signal?: AbortSignal) => get<RunCard>(runPath(run), signal),
  catalogue: (signal?: AbortSignal) => get<readonly MetricCard[]>("/api/catalogue", signal),
  comparison: (signal?: AbortSignal) => get<Comparison>("/api/comparison", signal),
  summary: (run: string, signal?: AbortSignal) => get<RunSummary>(`${runPath(run)}/summary`, signal),
  config: async (run: string, signal?: AbortSignal): Promise<string> =>
    (await fetchAnswer(`${runPath(run)}/config`, signal === undefined ? {} : { signal })).text(),
  scenes: (run: string, signal?: AbortSignal) => get<Scenes>(`${runPath(run)}/scenes`, signal),
  names: (run: string, signal?: AbortSignal) => get<readonly string[]>(`${runPath(run)}/names`, signal),
  metrics: (
    run: string,
    values: {
      readonly name: readonly string[];
      readonly from?: number;
      readonly to?: number;
      readonly points?: number;
    },
    signal?: AbortSignal,
  ) => get<Curves>(`${runPath(run)}/metrics${query(values)}`, signal),
  /** A file of every step, not buckets. */
  csv: async (run: string, names: readonly string[]): Promise<Blob> =>
    (await fetchAnswer(`${runPath(run)}/metrics.csv${query({ name: names })}`)).blob(),
  timeline: (run: string, points: number, signal?: AbortSignal) =>
    get<Timeline>(`${runPath(run)}/timeline${query({ points })}`, signal),
  line: (run: string, at: number | null, signal?: AbortSignal) =>
    get<LineView>(`${runPath(run)}/line${query({ at: at === null ? null : Math.round(at) })}`, signal),
  windows: (
    run: string,
    values: { readonly from?: number; readonly to?: number; readonly limit?: number },
    signal?: AbortSignal,
  ) => get<readonly WindowView[]>(`${runPath(run)}/windows${query(values)}`, signal),
  episodes: (run: string, values: EpisodeQuery, signal?: AbortSignal) =>
    get<EpisodePage>(`${runPath(run)}/episodes${query({ ...values })}`, signal),
  group: (run: string, split: string, step: number, group: number, signal?: AbortSignal) =>
    get<GroupAnswer>(`${runPath(run)}/groups/${encodeURIComponent(split)}/${step}/${group}`, signal),
  /** The stream of server-sent events. */
  live: (run: string, signal: AbortSignal) => fetchAnswer(`${runPath(run)}/live`, { signal }),
  control: async (run: string, token: string, control: Control): Promise<void> => {
    await fetchAnswer(`${runPath(run)}/control`, {
      method: "POST",
      headers: { authorization: `Bearer ${token}`, "content-type": "application/json" },
      body: JSON.stringify(control),
    });
  },
} as const;

export type Client = typeof client;
