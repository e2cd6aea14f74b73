/**
 * One trained set of parameters and its optimiser. The parameters change in place, so that the feeds of every model over them stay valid.
 */
import type { ParameterSpec } from "../policy/model/Architecture.ts";
import type { Parameters } from "../policy/model/Parameters.ts";
import type { Base } from "../policy/runtime/baseFeeds.ts";
import type { Feeds } from "../policy/runtime/Session.ts";
import type { AdamWOptions } from "./adamw.ts";
import { weightFeeds } from "./lanes/Lane.ts";
import type { LaneWeights } from "./lanes/Lanes.ts";
import { AdamW, type Moments, type StepResult } from "./optimiser/AdamW.ts";

export class Network implements LaneWeights {
  readonly parameters: Parameters;
  readonly feeds: Feeds;
  readonly base: Base | undefined;
  readonly #optimiser: AdamW;

  /** Takes ownership of the parameters and moments (zeros by default). `base`: what they stand beside, where they are an adapter. */
  constructor(parameters: Parameters, options: AdamWOptions, moments?: Moments, base?: Base) {
    this.parameters = parameters;
    this.base = base;
    this.feeds = weightFeeds(parameters, base);
    this.#optimiser = new AdamW(parameters, options, moments);
  }

  /** What is trained. */
  get specs(): readonly ParameterSpec[] {
    return this.parameters.specs;
  }

  get moments(): Moments {
    return this.#optimiser.moments;
  }

  /** One AdamW step along `gradients`, one for each of `specs`. A step of which anything is not finite changes nothing. */
  async step(gradients: readonly Float32Array[], lr: number): Promise<StepResult> {
    return this.#optimiser.step(gradients, lr);
  }
}
