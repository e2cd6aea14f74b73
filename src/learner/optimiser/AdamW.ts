/**
 * AdamW in place on the CPU, a chunk at a time; the runtime's operators would copy several times the model. If the last step's magnitudes
 * prove the next step finite, it takes one pass; otherwise it is examined first. Invariant: a step with any number that is not finite
 * changes nothing.
 */
import type { Parameters } from "../../model/graphs/Parameters.ts";
import type { NonFinitePart } from "../NonFinitePart.ts";
import { type AdamWOptions, stepScalars } from "./adamWModel.ts";
import { CHUNK, type Chunk, examine, type Factors, type Largest, step, sumOfSquares } from "./kernel.ts";

/** Running averages of the gradient and of its square, laid out as the parameters, and the number of steps behind them. */
export interface Moments {
  readonly first: Float32Array<ArrayBuffer>;
  readonly second: Float32Array<ArrayBuffer>;
  readonly steps: number;
}

export interface StepResult {
  /** Global norm of the gradient before clipping. */
  readonly norm: number;
  /** False when nothing changed, because a number was not finite or there was no gradient. */
  readonly applied: boolean;
  readonly notFinite: NonFinitePart | null;
}

/** Returns the result of a step that changed nothing. */
export const skippedStep = (notFinite: NonFinitePart | null): StepResult => ({
  norm: Number.NaN,
  applied: false,
  notFinite,
});

/** Magnitudes from which a new number counts as not finite, because a few times its square overflows float32. */
const MOST_PARAMETER = 2 ** 63;
const MOST_MOMENT = 2 ** 126;

const faultOf = ({ first, parameter, second }: Largest): NonFinitePart | null => {
  if (!(second < MOST_MOMENT && first < MOST_MOMENT)) return "new moments";
  return parameter < MOST_PARAMETER ? null : "new parameters";
};

/** Exceeds the rounding error of a few float32 operations. */
const SLACK = 1.001;

/** Bounds the largest magnitudes after a step by those before it and the gradient's norm. */
const boundsAfterStep = (before: Largest, norm: number, factors: Factors): Largest => {
  const gradient = norm * factors.scale * SLACK;
  const first = SLACK * (factors.beta1 * before.first + factors.oneMinusBeta1 * gradient);
  const second = SLACK * (factors.beta2 * before.second + factors.oneMinusBeta2 * gradient ** 2);
  const moved = (factors.stepSize * first) / factors.eps;
  return { first, second, parameter: SLACK * (Math.abs(factors.keep) * before.parameter + Math.abs(moved)) };
};

/** Returns the larger of each; NaN is kept. */
const elementwiseMax = (a: Largest, b: Largest): Largest => ({
  parameter: Math.max(a.parameter, b.parameter),
  first: Math.max(a.first, b.first),
  second: Math.max(a.second, b.second),
});

const { fround } = Math;

export class AdamW {
  readonly #parameters: Parameters;
  readonly #options: AdamWOptions;
  readonly #first: Float32Array<ArrayBuffer>;
  readonly #second: Float32Array<ArrayBuffer>;
  #steps: number;
  /** Largest magnitudes of parameters and moments; undefined before the first step. */
  #largest: Largest | undefined;

  /** Takes ownership of the parameters and moments (zeros by default). */
  constructor(parameters: Parameters, options: AdamWOptions, moments?: Moments) {
    const size = parameters.flat.length;
    this.#parameters = parameters;
    this.#options = options;
    this.#first = moments?.first ?? new Float32Array(size);
    this.#second = moments?.second ?? new Float32Array(size);
    this.#steps = moments?.steps ?? 0;
  }

  get moments(): Moments {
    return { first: this.#first, second: this.#second, steps: this.#steps };
  }

  /** Takes one step along `gradients`, one for each tensor of the parameters in their order. The gradients are not changed. */
  step(gradients: readonly Float32Array[], lr: number): StepResult {
    const norm = normOf(gradients);
    if (!Number.isFinite(norm)) return skippedStep("gradient");
    const factors = this.#factors(norm, lr);
    const before = this.#largest;
    const isSafe = before !== undefined && faultOf(boundsAfterStep(before, norm, factors)) === null;
    const notFinite = isSafe ? null : faultOf(this.#each(gradients, (chunk) => examine(chunk, factors)));
    if (notFinite !== null) return skippedStep(notFinite);
    this.#largest = this.#each(gradients, (chunk) => step(chunk, factors));
    this.#steps++;
    return { norm, applied: true, notFinite: null };
  }

  #factors(norm: number, lr: number): Factors {
    const { betas, eps } = this.#options;
    const [beta1, beta2] = betas;
    const { keep, max_norm, root_correction, step_size } = stepScalars(this.#options, lr, this.#steps + 1);
    return {
      scale: Math.min(fround(fround(max_norm) / fround(fround(norm) + fround(1e-6))), 1),
      beta1: fround(beta1),
      oneMinusBeta1: fround(1 - beta1),
      beta2: fround(beta2),
      oneMinusBeta2: fround(1 - beta2),
      rootCorrection: fround(root_correction),
      eps: fround(eps),
      stepSize: fround(step_size),
      keep: fround(keep),
    };
  }

  /** Applies `use` to every chunk and returns the largest magnitudes. */
  #each(gradients: readonly Float32Array[], use: (chunk: Chunk) => Largest): Largest {
    const { flat, tensors } = this.#parameters;
    let largest: Largest = { parameter: 0, first: 0, second: 0 };
    for (const [index, tensor] of tensors.entries()) {
      const offset = (tensor.byteOffset - flat.byteOffset) / flat.BYTES_PER_ELEMENT;
      for (let from = 0; from < tensor.length; from += CHUNK) {
        const to = Math.min(from + CHUNK, tensor.length);
        const chunkLargest = use({
          parameters: tensor.subarray(from, to),
          gradient: gradients[index]!.subarray(from, to),
          first: this.#first.subarray(offset + from, offset + to),
          second: this.#second.subarray(offset + from, offset + to),
        });
        largest = elementwiseMax(largest, chunkLargest);
      }
    }
    return largest;
  }
}

/** Returns the global norm over all tensors. It is not finite if the square of one number overflows float32. */
export const normOf = (gradients: readonly Float32Array[]): number => {
  let total = 0;
  for (const gradient of gradients)
    for (let from = 0; from < gradient.length; from += CHUNK)
      total += sumOfSquares(gradient.subarray(from, from + CHUNK));
  return fround(Math.sqrt(total));
};
