import { Schema } from "effect";
import { describe, expect, it } from "vitest";
import { wilson } from "../../../src/domain/intervals.ts";
import { toRecord } from "../../../src/domain/metrics/Metrics.ts";
import { metricsOf } from "../../../src/tools/evaluation/metrics.ts";
import { Summary, summaryOf } from "../../../src/tools/evaluation/Summary.ts";
import { episode, turn } from "./made.ts";

const facts = {
  name: "m",
  model: "m-1",
  kind: "openai",
  temperature: 0,
  versions: { environment: "e", template: "t" },
  tags: ["FrozenLake"],
  template: "ragen",
  written: 1,
  planned: 5,
  failed: 1,
  stopped: null,
  requests: 9,
  retries: 2,
  seconds: 3,
  lost: 7,
  cost: null,
};
const lost = episode({
  seed: 124,
  contentKey: "lake 124",
  group: 1,
  outcome: { _tag: "Truncated", reason: "max_turn", success: false },
});

describe("a summary", () => {
  it("counts episodes, tokens and success", () => {
    const summary = summaryOf([episode(), lost], facts);
    expect(summary).toMatchObject({
      planned: 5,
      finished: 2,
      succeeded: 1,
      failed: 1,
      interval: "wilson",
      success: wilson(1, 2),
      tokens: { prompt: 120, reply: 24, lost: 7, uncounted: 0 },
      by_tag: { FrozenLake: { episodes: 2 } },
    });
    expect(summary).not.toHaveProperty("cost_usd");
    expect(Schema.decodeUnknownSync(Summary)(JSON.parse(JSON.stringify(summary)))).toEqual(summary);
  });

  it("takes instances for trials where each was played more than once", () => {
    const twice = [episode(), episode({ member: 1 }), lost, { ...lost, member: 1 }];
    expect(summaryOf(twice, facts)).toMatchObject({
      interval: "bootstrap over instances",
      success: { mean: 0.5, low: 0, high: 1 },
    });
  });

  it("takes two seeds of one content for one instance", () => {
    expect(summaryOf([episode(), { ...lost, contentKey: episode().contentKey }], facts)).toMatchObject({
      interval: "bootstrap over instances",
      success: { mean: 0.5, low: 0.5, high: 0.5 },
    });
  });

  it("has no success without an episode", () => {
    expect(summaryOf([], facts)).toMatchObject({ finished: 0, success: null, return: null });
  });
});

const conditions = { size: 1, failures: 0, endpoint: true, summaries: false };

describe("metrics of finished episodes", () => {
  it("are a validation's", () => {
    const metrics = toRecord(metricsOf([episode(), lost], { ...conditions, failures: 1 }));
    expect(metrics).toMatchObject({
      "val-env/success": 0.5,
      "val-env/FrozenLake/success": 0.5,
      "val-env/FrozenLake/num_actions": 2,
      "val-env/FrozenLake/action_is_effective": 1,
      "val-env/response_length": 12,
      "val-env/episodes/failed": 1,
      "val-env/ended/succeeded": 1 / 3,
      "val-env/ended/failed": 1 / 3,
    });
    expect(metrics).not.toHaveProperty("val-env/entropy");
  });

  it("have no lengths where a reply was not counted", () => {
    const metrics = toRecord(metricsOf([episode({ turns: [turn({ tokens: null })] })], conditions));
    expect(metrics).not.toHaveProperty("val-env/response_length");
    expect(metrics).toHaveProperty("val-env/turns");
  });

  it("count replies that were cut", () => {
    const metrics = toRecord(metricsOf([episode({ turns: [turn({ finish: "length" }), turn()] })], conditions));
    expect(metrics["val-env/cut_by_length"]).toBe(0.5);
  });

  it("count replies that were filtered, of endpoints", () => {
    const half = [episode({ turns: [turn({ finish: "filtered" }), turn()] })];
    expect(toRecord(metricsOf(half, conditions))["val-env/filtered"]).toBe(0.5);
    expect(toRecord(metricsOf(half, { ...conditions, endpoint: false }))).not.toHaveProperty("val-env/filtered");
  });
});
