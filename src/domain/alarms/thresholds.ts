/**
 * When an alarm goes off: one table, with the reason for each number. The runs that are named are records of real runs below
 * bench/results/learning; test/domain/alarms.test.ts replays them.
 */
export const thresholds = {
  /** Windows in a row before an alarm about replies or contexts. One window may be odd; three are no chance, and little is lost by then. */
  windows: 3,
  /**
   * Share of replies that can be read, or of turns with a legal action, that counts as none. It is an accident of sampling, and too little
   * to learn a format from.
   */
  legible: 0.02,
  /**
   * Windows in a row without a difference to learn from. In the runs that learn the filter kept nothing of at most 2 windows in a row, in
   * `smollm2_countdown` of 4.
   */
  constantWindows: 5,
  /**
   * Windows in a row in which the environment pays all alike, whatever penalties differ. It is twice as many, because a run may learn its
   * format by the penalty before it earns anything.
   */
  unpaidWindows: 10,
  /**
   * Share of turns with a legal action from which on such a window counts: below it the format is still being learned, and the environment was
   * hardly asked.
   */
  asked: 0.5,
  /** Largest deviation of rewards within groups that counts as none: the rounding of rewards that are equal. */
  deviation: 1e-6,
  /** Success from which on equal rewards and certain replies are the aim, and no fault. */
  solved: 0.95,
  /** Share of episodes that the context may cut. A few long ones are harmless; one in twenty weighs on every update. */
  cut: 0.05,
  /**
   * Entropy per token, nats, that counts as none: nine of ten replies of ten tokens are the same. The least of a run that learns is 0.009
   * (`smollm2_countdown`, for one window), all runs without long thoughts stay above 0.04.
   */
  entropy: 0.01,
  entropyWindows: 5,
  /** Measurements in a row in a regime of collapse; one alone is noisy. */
  collapses: 2,
  /** Windows whose mean is compared with the bounds of divergence: an update in hundreds jumps in good runs, too. */
  divergenceWindows: 5,
  /** Mean divergence of an update, nats per token. Good runs stay below 0.07; the Sokoban run without safeguards comes to 0.33. */
  updateKl: 0.2,
  /** Mean divergence from the reference, nats per token: little is left of the reference. */
  referenceKl: 1,
  /** Mean effective share of the sample. Good runs stay above 0.5; the Sokoban run without safeguards falls to 0.22. */
  effectiveShare: 0.4,
  /** Windows whose mean success is compared with the best such mean. */
  declineWindows: 10,
  /** Validations in a row below the bound: a small validation is noisy. */
  declineValidations: 2,
  /**
   * Success has fallen well after its best where it is below this share of it, and by this much. Good runs fall to 0.74 of their best ten
   * windows, or by 0.14; the Sokoban runs that break apart fall to 0.25 and 0.38, by a third and more.
   */
  declineShare: 0.6,
  declineBy: 0.15,
  /** Records in a row without its sign after which an alarm ends: with 10 the Sokoban run without safeguards would be warned twice of one matter. */
  quiet: 20,
} as const;
