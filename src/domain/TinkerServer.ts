/** The servers with the Tinker API that are known by name. What is known of each is in `remote/tinker/serverTraits.ts`. */

export const tinkerServers = [
  "thinking-machines",
  "skyrl-jax",
  "skyrl-train",
  "tuft",
  "verl",
  "twinkle",
  "tinker-cloud",
  "other",
] as const;
export type TinkerServerName = (typeof tinkerServers)[number];
