/** What is measured of generation on servers beside the gauges: requests, what servers say of their queues, and cost where it has a price. Pure. */
import { type Metrics, measured } from "../../domain/metrics/Metrics.ts";
import { remoteGeneration as catalogue } from "../../domain/metrics/run.ts";
import type { Load } from "./Dialect.ts";
import type { RemoteCounts } from "./RemotePolicy.ts";

export interface Measured {
  readonly tokens: RemoteCounts;
  readonly requests: { readonly asked: number; readonly repeated: number };
  /** Requests that wait for a place. */
  readonly waiting: number;
  readonly loads: readonly Load[];
  /** US dollars of a million tokens. */
  readonly prices: { readonly in: number; readonly out: number };
}

/** Of those servers that tell it; undefined where none does. */
const told = (loads: readonly Load[], of: (load: Load) => number | undefined, join: (values: number[]) => number) => {
  const values = loads.flatMap((load) => of(load) ?? []);
  return values.length === 0 ? undefined : join(values);
};

const sum = (values: readonly number[]): number => values.reduce((total, value) => total + value, 0);

export const metrics = ({ loads, prices, requests, tokens, waiting }: Measured): Metrics => {
  const cost = (tokens.prompt * prices.in + tokens.sampled * prices.out) / 1e6;
  return measured(
    [catalogue.prompted, tokens.prompt],
    [catalogue.replied, tokens.sampled],
    [catalogue.requests, requests.asked],
    [catalogue.repeated, requests.repeated],
    [catalogue.waiting, waiting],
    [catalogue.queued, told(loads, (load) => load.waiting, sum)],
    [catalogue.running, told(loads, (load) => load.running, sum)],
    [
      catalogue.cache,
      told(
        loads,
        (load) => load.cache,
        (values) => Math.max(...values),
      ),
    ],
    [catalogue.cost, prices.in === 0 && prices.out === 0 ? undefined : cost],
  );
};
