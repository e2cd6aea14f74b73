/**
 * The reference policy, to which a divergence is taken: the run's starting weights (with an adapter, the model without it), or those of the last renewal. Invariant: its numbers
 * change only by `renew`, in place, so that the feeds over them stay valid.
 */
import type { Parameters } from "../policy/model/Parameters.ts";
import type { Base } from "../policy/runtime/baseFeeds.ts";
import type { Feeds } from "../policy/runtime/Session.ts";
import { weightFeeds } from "./lanes/Lane.ts";
import type { LaneWeights } from "./lanes/Lanes.ts";

export class Reference implements LaneWeights {
  readonly parameters: Parameters;
  readonly feeds: Feeds;
  readonly base: Base | undefined;

  /** Takes ownership of the parameters. `base`: what they stand beside, where they are an adapter. */
  constructor(parameters: Parameters, base?: Base) {
    this.parameters = parameters;
    this.base = base;
    this.feeds = weightFeeds(parameters, base);
  }

  /** The policy without its adapter: the adapter's own numbers, switched off, and so no copy of any. It must not be renewed. */
  static without(adapter: Parameters, base: Base): Reference {
    return new Reference(adapter, { ...base, scale: 0 });
  }

  /** Becomes a copy of `policy`. */
  renew(policy: Parameters): void {
    this.parameters.flat.set(policy.flat);
  }
}
