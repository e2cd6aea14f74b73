/** Seeds of schedules that once failed, with what they found. They are played before any others. */
export const keptSeeds: readonly number[] = [
  // A group was admitted after a stop, or after a pause: another fiber ran between the decision and its event.
  205, 94,
  // A stop announced another step than its run ended at: its event was out of date when it was emitted.
  67,
  // In completion order a window asked again before its last refill was admitted, which was then forgotten, and the run never ended.
  4001,
  4065,
  // In completion order a refill was admitted after its window was consumed, and its posterior was forgotten.
  5941,
];
