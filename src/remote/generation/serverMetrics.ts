/** Metrics of generation servers beside the gauges: requests, the servers' queues, and the cost if the run file has prices. */
import { type Metrics, metricsFrom } from "../../domain/metrics/Metrics.ts";
import { remoteGeneration as catalogue } from "../../domain/metrics/run.ts";
import type { ServerLoad } from "./Dialect.ts";
import type { TokenCounts } from "./RemotePolicy.ts";

export interface ServerMeasurements {
  readonly tokens: TokenCounts;
  readonly requests: { readonly sent: number; readonly repeated: number };
  /** Requests that wait for a place at a server. */
  readonly waiting: number;
  readonly loads: readonly ServerLoad[];
  /** US dollars for a million tokens. */
  readonly prices: { readonly in: number; readonly out: number };
}

/** Combines the values of those servers that report one; undefined if none does. */
const combine = (
  loads: readonly ServerLoad[],
  field: (load: ServerLoad) => number | undefined,
  join: (values: number[]) => number,
) => {
  const values = loads.flatMap((load) => field(load) ?? []);
  return values.length === 0 ? undefined : join(values);
};

const sum = (values: readonly number[]): number => values.reduce((total, value) => total + value, 0);

export const serverMetrics = ({ loads, prices, requests, tokens, waiting }: ServerMeasurements): Metrics => {
  const cost = (tokens.prompt * prices.in + tokens.sampled * prices.out) / 1e6;
  return metricsFrom(
    [catalogue.prompted, tokens.prompt],
    [catalogue.replied, tokens.sampled],
    [catalogue.requests, requests.sent],
    [catalogue.repeated, requests.repeated],
    [catalogue.waiting, waiting],
    [catalogue.queued, combine(loads, (load) => load.waiting, sum)],
    [catalogue.running, combine(loads, (load) => load.running, sum)],
    [
      catalogue.cache,
      combine(
        loads,
        (load) => load.cache,
        (values) => Math.max(...values),
      ),
    ],
    [catalogue.cost, prices.in === 0 && prices.out === 0 ? undefined : cost],
  );
};
