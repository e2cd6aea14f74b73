/** An episode's order, for hosts under test. */
import type { EpisodeOrder } from "../../../src/agents/host/AgentHost.ts";

export const order = (more: Partial<EpisodeOrder> = {}): EpisodeOrder => ({
  endpoint: "http://127.0.0.1:9",
  apiKey: "mr-ep-1",
  split: "train",
  seed: 7,
  group: 3,
  member: 1,
  noise: { seed: 0, purpose: "noise", counters: [3, 1] },
  ...more,
});
