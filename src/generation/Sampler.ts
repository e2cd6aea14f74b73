/**
 * Draws one token from a row of logits: temperature, top-k, top-p, then one uniform number through the inverse cumulative distribution in
 * id order. Results are left in fields, so that a token costs no allocation. Invariant: the result depends on (logits, sampling, uniform)
 * alone; sums are in double precision.
 */
import type { Sampling } from "./Policy.ts";
import { SoftmaxRow } from "./SoftmaxRow.ts";
import { Truncation, truncates } from "./Truncation.ts";

/** The model returned logits from which no token can be drawn. */
export class NotFiniteLogits extends RangeError {
  constructor() {
    super("the policy's logits are not finite: its weights are too large to compute with");
    this.name = "NotFiniteLogits";
  }
}

export class Sampler {
  /**
   * Results of the last `draw`: the id; `mu`, its log-probability under the truncated and renormalised distribution; and the distribution's
   * entropy, nats.
   */
  id = 0;
  mu = 0;
  entropy = 0;

  readonly #size: number;
  readonly #row: SoftmaxRow;
  /** Absent until a draw truncates. */
  #truncation: Truncation | undefined;

  /** `size` is the number of ids in the vocabulary. */
  constructor(size: number) {
    this.#size = size;
    this.#row = new SoftmaxRow(size);
  }

  /**
   * Draws from `logits[start .. start + size)` with `uniform` in [0, 1). Temperature 0 takes the likeliest id, the lowest of equals, with
   * mu and entropy 0. Throws NotFiniteLogits if a logit is NaN or +Infinity, or all are -Infinity.
   */
  draw(logits: Float32Array, start: number, sampling: Sampling, uniform: number): void {
    const row = this.#row;
    if (!row.read(logits, start)) throw new NotFiniteLogits();
    if (sampling.temperature === 0) {
      this.id = row.likeliest();
      this.mu = 0;
      this.entropy = 0;
      return;
    }
    const scale = 1 / sampling.temperature;
    row.prepare(scale);
    if (truncates(sampling, this.#size)) {
      this.#truncation ??= new Truncation(row);
      row.prepare(scale, this.#truncation.limit(sampling, scale));
    }
    row.weigh();
    const { moment, total } = row;
    if (!(total > 0 && total < Number.POSITIVE_INFINITY)) throw new NotFiniteLogits();
    const logSum = Math.log(total);
    this.id = row.idAt(uniform * total) ?? row.likeliest();
    this.mu = (row.logits[this.id]! - row.largest) * scale - logSum;
    this.entropy = logSum - moment / total;
  }
}
