/** The work of each stage of the line in a few words, and the services below it. */

const works: Readonly<Record<string, string>> = {
  rollout: "plays episodes",
  window: "gathers groups",
  score: "computes rewards",
  filter: "judges groups",
  learn: "updates the weights",
  close: "records, validates",
  generate: "samples tokens",
  step: "runs environments",
};

export const workOf = (stage: string): string => works[stage] ?? "";

/** The order in which services stand below the line: the one that adopts weights lies next to them. */
export const serviceOrder = (name: string): number => (name === "generate" ? 1 : 0);
