/** An endpoint without limits, its waits short enough for real time. */
import type { Endpoint } from "../../../src/config/players.ts";

export const endpointAt = (baseUrl: string, changes: Partial<Endpoint> = {}): Endpoint => ({
  _tag: "Endpoint",
  name: "stand-in",
  protocol: "openai",
  baseUrl,
  model: "m-1",
  keyVariable: null,
  temperature: 0,
  maxTokens: 100,
  sentFields: { temperature: true, maxTokens: true },
  agentFields: ["temperature", "topP", "topK", "seed", "stop"],
  extraFields: {},
  maxConcurrency: 4,
  requestsPerMinute: null,
  tokensPerMinute: null,
  timeoutMs: 2_000,
  retries: 4,
  retryWaitMs: 1,
  failuresInARow: 3,
  budget: { tokens: null, usd: null, prices: { in: 0, out: 0 } },
  ...changes,
});
