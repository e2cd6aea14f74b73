/**
 * The reference policy, to which a divergence is taken: the run's starting weights, or those of the last renewal. Invariant: its numbers
 * change only by `renew`, in place, so that the feeds over them stay valid.
 */
import type { Parameters } from "../policy/model/Parameters.ts";
import type { Feeds } from "../policy/runtime/Session.ts";
import { weightFeeds } from "./lanes/Lane.ts";
import type { LaneWeights } from "./lanes/Lanes.ts";

export class Reference implements LaneWeights {
  readonly parameters: Parameters;
  readonly feeds: Feeds;

  /** Takes ownership of the parameters. */
  constructor(parameters: Parameters) {
    this.parameters = parameters;
    this.feeds = weightFeeds(parameters);
  }

  /** Becomes a copy of `policy`. */
  renew(policy: Parameters): void {
    this.parameters.flat.set(policy.flat);
  }
}
