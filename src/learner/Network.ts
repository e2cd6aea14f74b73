/**
 * One trained set of parameters: its flat vector, AdamW's moments and the session that steps them. The vector changes
 * in place, so that the feeds of every model over it stay valid.
 * Invariant: a step of which anything is not finite changes nothing: parameters, moments and count stay as they were.
 */
import type { ParameterSpec } from "../policy/model/Architecture.ts";
import type { Parameters } from "../policy/model/Parameters.ts";
import { type Feeds, float32, type Outputs, Session } from "../policy/runtime/Session.ts";
import { type AdamWOptions, adamWModel, scalars } from "./adamw.ts";
import { scalarOf } from "./inputs.ts";
import { weightFeeds } from "./lanes/Lane.ts";
import type { LaneWeights } from "./lanes/Lanes.ts";
import type { NotFinite } from "./NotFinite.ts";

export interface StepResult {
  /** Global norm of the gradient before clipping. */
  readonly norm: number;
  /** False when nothing changed: something was not finite, or there was no gradient. */
  readonly applied: boolean;
  readonly notFinite: NotFinite | null;
}

/** A step that changed nothing. */
export const untaken = (notFinite: NotFinite | null): StepResult => ({ norm: Number.NaN, applied: false, notFinite });

/** AdamW's running averages of the gradient and of its square, laid out as the parameters, and the steps they saw. */
export interface Moments {
  readonly first: Float32Array<ArrayBuffer>;
  readonly second: Float32Array<ArrayBuffer>;
  readonly steps: number;
}

/** What of an AdamW step is not finite; its sums tell it of every new number. */
const faultOf = (norm: number, results: Outputs): NotFinite | null => {
  if (!Number.isFinite(norm)) return "gradient";
  if (!Number.isFinite(scalarOf(results.float32("second_sum")))) return "new moments";
  return Number.isFinite(scalarOf(results.float32("parameter_squares"))) ? null : "new parameters";
};

export class Network implements LaneWeights, AsyncDisposable {
  readonly parameters: Parameters;
  readonly feeds: Feeds;
  readonly #first: Float32Array<ArrayBuffer>;
  readonly #second: Float32Array<ArrayBuffer>;
  readonly #options: AdamWOptions;
  readonly #session: Session;
  #steps: number;

  private constructor(parameters: Parameters, moments: Moments, options: AdamWOptions, session: Session) {
    this.parameters = parameters;
    this.feeds = weightFeeds(parameters);
    this.#first = moments.first;
    this.#second = moments.second;
    this.#steps = moments.steps;
    this.#options = options;
    this.#session = session;
  }

  /** Takes ownership of the parameters and moments (zeros by default). */
  static async open(
    parameters: Parameters,
    options: AdamWOptions,
    threads: number,
    moments?: Moments,
  ): Promise<Network> {
    const size = parameters.flat.length;
    const session = await Session.open(adamWModel(size, options), { threads });
    const fresh: Moments = { first: new Float32Array(size), second: new Float32Array(size), steps: 0 };
    return new Network(parameters, moments ?? fresh, options, session);
  }

  get specs(): readonly ParameterSpec[] {
    return this.parameters.specs;
  }

  get moments(): Moments {
    return { first: this.#first, second: this.#second, steps: this.#steps };
  }

  /** One AdamW step along `gradient` [parameters]. */
  async step(gradient: Float32Array, lr: number): Promise<StepResult> {
    const { flat } = this.parameters;
    const dims = [flat.length];
    const values = scalars(this.#options, lr, this.#steps + 1);
    using results = await this.#session.run({
      parameters: float32(flat, dims),
      gradient: float32(gradient, dims),
      first: float32(this.#first, dims),
      second: float32(this.#second, dims),
      ...Object.fromEntries(Object.entries(values).map(([name, value]) => [name, float32(Float32Array.of(value), [])])),
    });
    const norm = scalarOf(results.float32("norm"));
    const notFinite = faultOf(norm, results);
    if (notFinite !== null) return untaken(notFinite);
    flat.set(results.float32("new_parameters"));
    this.#first.set(results.float32("new_first"));
    this.#second.set(results.float32("new_second"));
    this.#steps++;
    return { norm, applied: true, notFinite: null };
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#session.close();
  }
}
