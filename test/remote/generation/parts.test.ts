/** Small pure functions: places by load, values of Prometheus' text, distances of log-probabilities, labels of versions. */
import { describe, expect, it } from "vitest";
import { adjustPlaces } from "../../../src/remote/generation/adjustPlaces.ts";
import { probeDistance } from "../../../src/remote/generation/probeDistance.ts";
import { loadIn, parseLabel, valuesIn, versionLabel } from "../../../src/remote/generation/sharedRequests.ts";

describe("places after a server's word of its queue", () => {
  it.each([
    ["grow by an eighth while none waits", 16, 16, {}, 64, 18],
    ["grow to the most and no more", 63, 10, { waiting: 0 }, 64, 64],
    ["shrink by those that wait", 64, 40, { waiting: 10 }, 64, 30],
    ["stay at one", 4, 2, { waiting: 100 }, 64, 1],
    ["stop growing where its cache is full", 64, 20, { cache: 0.97 }, 64, 20],
  ])("%s", (_, places, open, load, most, expected) => {
    expect(adjustPlaces(places, open, load, most)).toBe(expected);
  });
});

const text = `# HELP vllm:num_requests_running Number of requests in model execution batches.
# TYPE vllm:num_requests_running gauge
vllm:num_requests_running{engine="0",model_name="m"} 3.0
vllm:num_requests_running{engine="1",model_name="a \\"quoted} name\\""} 2.0
vllm:kv_cache_usage_perc{engine="0"} 0.25
vllm:prompt_tokens_total 1.5e+03 1795405451834
vllm:odd{engine="0"} NaN
not a line
`;

describe("metrics out of text", () => {
  it("sums a name over its labels, and leaves out what is not there or no number", () => {
    const names = ["vllm:num_requests_running", "vllm:prompt_tokens_total", "vllm:odd", "vllm:missing"];
    expect([...valuesIn(text, names)]).toEqual([
      ["vllm:num_requests_running", 5],
      ["vllm:prompt_tokens_total", 1500],
    ]);
    expect(loadIn(text, { running: "vllm:num_requests_running", waiting: "vllm:missing" })).toEqual({ running: 5 });
  });
});

describe("distance from a server's log-probabilities", () => {
  const rows = Float32Array.of(0, 1, 2, 3, 3, 3);
  const at = (temperature: number, raised = 0) =>
    [0, 1].map((row) => {
      const scores = Array.from(rows.subarray(3 * row, 3 * row + 3), (score) => score / temperature);
      const total = Math.log(scores.reduce((sum, score) => sum + Math.exp(score), 0));
      return new Map(scores.slice(1).map((score, i) => [i + 1, score - total + raised] as const));
    });

  it("is none of the same scores, at every temperature", () => {
    expect(probeDistance(rows, at(1), 1)).toBeLessThan(1e-12);
    expect(probeDistance(rows, at(0.5), 0.5)).toBeLessThan(1e-12);
  });

  it("is a mean, and tells raw ones at another temperature", () => {
    expect(probeDistance(rows, at(1, 0.25), 1)).toBeCloseTo(0.25, 12);
    expect(probeDistance(rows, at(1), 0.5)).toBeGreaterThan(0.1);
  });

  it("is infinite where a number is none, or no token is named", () => {
    expect(probeDistance(rows, [new Map([[1, Number.NaN]]), new Map()], 1)).toBe(Number.POSITIVE_INFINITY);
    expect(probeDistance(rows, [new Map(), new Map()], 1)).toBe(Number.POSITIVE_INFINITY);
  });
});

describe("names of versions", () => {
  it("are a run's own", () => {
    expect(parseLabel("millrace-1f", versionLabel("millrace-1f", 12))).toBe(12);
    expect(
      ["default", "millrace-1f-v", "millrace-2f-v1", "millrace-1f-v1x"].map((label) =>
        parseLabel("millrace-1f", label),
      ),
    ).toEqual([undefined, undefined, undefined, undefined]);
  });
});
