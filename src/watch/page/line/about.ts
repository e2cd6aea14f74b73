/** What each stage of the line does, in a few words, and what the page calls what limits it. */

const works: Readonly<Record<string, string>> = {
  rollout: "plays the episodes of a group",
  window: "gathers groups into a window",
  score: "computes rewards of a window",
  filter: "judges groups by reward variance",
  learn: "updates the weights",
  close: "records the step, validates",
  generate: "samples tokens for rollout",
  step: "runs environments for rollout",
};

export const workOf = (stage: string): string => works[stage] ?? "";

/** The order in which services stand below the line: the one that adopts weights lies next to them. */
export const serviceOrder = (name: string): number => (name === "generate" ? 1 : 0);
