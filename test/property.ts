/**
 * Checks properties. `npm test` draws the same cases in every run. `npm run test:explore` draws others each time, and many more:
 * it sets EXPLORE_SEED, which repeats a failure when given, and EXPLORE_FACTOR, by which the runs are multiplied.
 */
import fc from "fast-check";

interface Runs {
  readonly numRuns?: number;
  /** Milliseconds after which no more cases are drawn under `npm test`. */
  readonly interruptAfterTimeLimit?: number;
}

/** fast-check's own default. */
const RUNS = 100;

const parameters = ({ numRuns = RUNS, ...limits }: Runs) => {
  const { EXPLORE_FACTOR, EXPLORE_SEED } = process.env;
  return EXPLORE_SEED === undefined
    ? { seed: 1, numRuns, ...limits }
    : { seed: Number(EXPLORE_SEED), numRuns: numRuns * Number(EXPLORE_FACTOR) };
};

/** Throws the smallest counterexample found, with its seed. */
export function assertProperty<Ts>(property: fc.IAsyncProperty<Ts>, runs?: Runs): Promise<void>;
export function assertProperty<Ts>(property: fc.IProperty<Ts>, runs?: Runs): void;
export function assertProperty<Ts>(
  property: fc.IAsyncProperty<Ts> | fc.IProperty<Ts>,
  runs: Runs = {},
): Promise<void> | void {
  return fc.assert(property, parameters(runs));
}
