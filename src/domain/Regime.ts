/** Words of the collapse diagnostics: how thoughts are drawn to be measured, and what a measurement says of the policy. */

/** Pairs of prompt and thought: of first turns, or of any turn. */
export const drawings = ["first_turn", "trajectory"] as const;

/** The turns whose thoughts are measured: first ones, or any. */
export type Drawing = (typeof drawings)[number];

/**
 * Regimes by how much thoughts vary given their prompt, H(Z|X), and how much they tell of it, I(X;Z). In order: both are high; only the
 * first; only the second; neither (Wang et al., RAGEN-2, arXiv 2604.06268).
 */
export const regimes = ["healthy", "template_collapse", "compressed", "entropy_collapse"] as const;

/** A regime of the policy's thoughts. */
export type Regime = (typeof regimes)[number];
