/** Seeds of schedules that once failed, which are played before any others. Each one names what it found. */
export const keptSeeds: readonly number[] = [];
