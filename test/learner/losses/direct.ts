/**
 * The policy losses evaluated directly, in double precision and sequence by sequence, to compare the graphs with. What a loss holds constant
 * is taken at `frozen`, so that central differences in `logp` are its gradient.
 */
import type { KlType } from "../../../src/learner/losses/klEstimate.ts";
import type { ClipOptions, PolicyLossName, PolicyLossOptions } from "../../../src/learner/losses/policyLoss.ts";

/** One sequence of targets; a target of weight 0 is not there at all. */
export interface Sequence {
  readonly logp: readonly number[];
  readonly entropy: readonly number[];
  readonly old: readonly number[];
  readonly advantages: readonly number[];
  readonly weights: readonly number[];
  readonly importance: readonly number[];
  readonly reference: readonly number[];
  /** Positions of pi_prox for the log-linear proximal policy; 0 by default. */
  readonly places?: readonly number[];
}

const clamp = (x: number, low: number, high: number): number => Math.min(high, Math.max(low, x));
const ratioOf = (x: number): number => Math.exp(clamp(x, -20, 20));
const mean = (values: readonly number[]): number => values.reduce((a, b) => a + b, 0) / values.length;
const clipped = (ratio: number, advantage: number, { high, low }: ClipOptions): number =>
  Math.max(-advantage * ratio, -advantage * clamp(ratio, 1 - low, 1 + high));

/** Loss of each target, by name. */
const surrogates: Readonly<
  Record<PolicyLossName, (sequence: Sequence, frozen: readonly number[], clip: ClipOptions) => readonly number[]>
> = {
  ppo: ({ advantages, logp, old }, _, clip) =>
    logp.map((x, t) => {
      const advantage = advantages[t]!;
      const one = clipped(ratioOf(x - old[t]!), advantage, clip);
      return clip.dual > 0 && advantage < 0 ? Math.min(-advantage * clip.dual, one) : one;
    }),
  gspo: ({ advantages, logp, old }, frozen, clip) => {
    const level = mean(frozen.map((x, t) => x - old[t]!));
    return logp.map((x, t) => clipped(ratioOf(level + x - frozen[t]!), advantages[t]!, clip));
  },
  geo_mean: ({ advantages, logp, old }, _, { high, low }) => {
    const limited = logp.map((x, t) => {
      const d = x - old[t]!;
      const within = clamp(d, -low, high);
      const advantage = advantages[t]!;
      return advantage > 0 ? Math.min(d, within) : advantage < 0 ? Math.max(d, within) : 0;
    });
    return logp.map(() => -mean(advantages) * ratioOf(mean(limited)));
  },
  cispo: ({ advantages, logp, old }, frozen, { high, low }) =>
    logp.map((x, t) => -clamp(ratioOf(frozen[t]! - old[t]!), 1 - low, 1 + high) * advantages[t]! * x),
  gpg: ({ advantages, logp }) => logp.map((x, t) => -advantages[t]! * x),
};

const kl = (x: number, frozen: number, reference: number, type: KlType): number => {
  const k2 = (at: number): number => 0.5 * (at - reference) ** 2;
  const estimate = (at: number): number => {
    const d = at - reference;
    if (type.startsWith("k1")) return d;
    if (type.startsWith("abs")) return Math.abs(d);
    return type === "k2" ? k2(at) : clamp(Math.exp(clamp(-d, -20, 20)) + d - 1, -10, 10);
  };
  return type.endsWith("+") ? estimate(frozen) + k2(x) - k2(frozen) : estimate(x);
};

/** The directly computed losses are those of the package. */
const nameOf = ({ loss }: PolicyLossOptions): PolicyLossName => {
  if (typeof loss !== "string") throw new TypeError("there is no direct computation of a custom loss");
  return loss;
};

/** The whole loss of a sequence, a sum over its targets. */
export const directLoss = (sequence: Sequence, frozen: readonly number[], options: PolicyLossOptions): number => {
  const { entropy, importance, logp, reference, weights } = sequence;
  const surrogate = surrogates[nameOf(options)](sequence, frozen, options.clip);
  const terms = logp.map((x, t) => {
    const divergence = options.kl && options.kl.coefficient * kl(x, frozen[t]!, reference[t]!, options.kl.type);
    const bonus = options.entropyCoefficient * entropy[t]!;
    return weights[t]! * (surrogate[t]! * importance[t]! - bonus + (divergence ?? 0));
  });
  return terms.reduce((a, b) => a + b, 0);
};

const STEP = 1e-6;

/** Central differences of the loss in each target's logp. */
export const directGradient = (sequence: Sequence, options: PolicyLossOptions): readonly number[] =>
  sequence.logp.map((x, t) => {
    const at = (value: number): number =>
      directLoss({ ...sequence, logp: sequence.logp.with(t, value) }, sequence.logp, options);
    return (at(x + STEP) - at(x - STEP)) / (2 * STEP);
  });
