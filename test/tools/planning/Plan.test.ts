/** What a run is expected to hold: the owners' sums, how they follow the run file's keys, and what turning a key down saves. */
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { bucket } from "../../../src/domain/Passes.ts";
import { type DecoderConfig, parameterCount, parameters } from "../../../src/model/graphs/Architecture.ts";
import { trainedParameters } from "../../../src/model/graphs/Trained.ts";
import { deviceItems } from "../../../src/tools/planning/DeviceOwners.ts";
import { Models } from "../../../src/tools/planning/Models.ts";
import { items } from "../../../src/tools/planning/Owners.ts";
import { expectedPeak, peakOf, plan } from "../../../src/tools/planning/Plan.ts";
import { generatorShape, passShape } from "../../../src/tools/planning/Shapes.ts";
import { resolved } from "../../config/configs.ts";
import { tiny } from "../../learner/model.ts";
import { assertProperty } from "../../property.ts";

const { config: base } = resolved("");
const config = {
  ...base,
  rollout: { ...base.rollout, max_model_len: 64, response_length: 16 },
  generation: { ...base.generation, slots: 8, prefill_tokens: 64 },
  actor: { ...base.actor, micro_batch_tokens: 256 },
};
const models = new Models();
const question = { config, decoder: tiny, tokenizerBytes: 1_000, unit: null };
const asked = { config, decoder: tiny, tokenizerBytes: 1_000, models };
const weights = 4 * parameterCount(parameters(tiny));

const bytes = (what: string, of = items(asked)): number =>
  of.filter((item) => item.what === what).reduce((sum, item) => sum + item.bytes, 0);

describe("what the owners hold", () => {
  it("is weights, moments and caches by their sizes", () => {
    expect(bytes("policy: weights")).toBe(weights);
    expect(bytes("policy: moments")).toBe(2 * weights);
    expect(bytes("weights")).toBe(weights);
    const { capacity, rows } = generatorShape(config);
    expect({ capacity, rows }).toEqual({ capacity: 64, rows: 8 });
    expect(bytes("keys and values")).toBe(8 * 64 * 2 * tiny.layers * tiny.kvHeads * tiny.headDim * 4);
  });

  it("has a reference and a critic where the run has them", () => {
    expect(bytes("reference: weights")).toBe(0);
    const penalised = { ...config, actor: { ...config.actor, use_kl_loss: true } };
    expect(bytes("reference: weights", items({ ...asked, config: penalised }))).toBe(weights);
    const alone = { ...config, algorithm: { ...config.algorithm, adv_estimator: "grpo" as const } };
    expect(bytes("critic: weights")).toBeGreaterThan(weights);
    expect(bytes("critic: weights", items({ ...asked, config: alone }))).toBe(0);
  });

  it("has a copy of the weights for each lane and each generator", () => {
    const model = { ...config.model, learner_lanes: 3, generator_threads: 2 };
    const more = items({ ...asked, config: { ...config, model } });
    expect(new Set(more.map(({ owner }) => owner))).toEqual(
      new Set([
        "main thread",
        "learner",
        "learner lane 2",
        "learner lane 3",
        "generator 1",
        "generator 2",
        "step threads",
      ]),
    );
    // Of several generators each keeps the version before the newest, for a validation that is about to begin.
    expect(bytes("weights", more)).toBe(2 * 2 * weights);
  });
});

describe("what is on a device", () => {
  const onWebgpu = { ...config, model: { ...config.model, device: "webgpu" } };
  const held = (what: string, of: typeof asked): number => bytes(what, deviceItems(of));

  it("is nothing where all compute on the CPU", () => {
    expect(deviceItems(asked)).toEqual([]);
  });

  it("is weights, moments and caches where they stay there", () => {
    const there = { ...asked, config: onWebgpu };
    expect(held("policy: weights", there)).toBe(weights);
    expect(held("policy: moments", there)).toBe(2 * weights);
    expect(held("keys and values", there)).toBe(bytes("keys and values"));
    expect(held("weights beside the adapter", there)).toBe(0);
  });

  it("is half of it for matrices and caches in float16", () => {
    const model = { ...onWebgpu.model, generator_dtype: "float16" as const };
    const there = { ...asked, config: { ...onWebgpu, model } };
    expect(held("keys and values", there)).toBe(bytes("keys and values") / 2);
    const vectors = parameters(tiny).filter(({ shape }) => shape.length === 1);
    expect(held("weights", there)).toBe(weights / 2 + 2 * parameterCount(vectors));
    expect(held("policy: weights", there)).toBe(weights);
  });

  it("is the base once for each role, and of the rest the adapter's", () => {
    const decoder: DecoderConfig = { ...tiny, adapter: { rank: 2, alpha: 4, targets: ["q_proj"] } };
    const there = { ...asked, config: onWebgpu, decoder };
    expect(held("weights beside the adapter", there)).toBe(2 * weights);
    expect(held("policy: moments", there)).toBe(2 * 4 * parameterCount(trainedParameters(decoder)));
    const one = { ...there, config: { ...onWebgpu, model: { ...onWebgpu.model, generator_device: "cpu" } } };
    expect(held("weights beside the adapter", one)).toBe(weights);
  });
});

describe("the peak", () => {
  it("adds updates to rollouts where they go on together, and takes the larger where they go by turns", () => {
    const found = [
      { owner: "a", what: "held", bytes: 1, during: "always" },
      { owner: "a", what: "passes", bytes: 20, during: "update" },
      { owner: "a", what: "snapshot", bytes: 30, during: "handover" },
      { owner: "b", what: "steps", bytes: 400, during: "rollout" },
    ] as const;
    expect(peakOf(found, "async")).toBe(431);
    expect(peakOf(found, "sync")).toBe(401);
    expect(peakOf(found.slice(0, 3), "lockstep")).toBe(31);
  });

  it("never falls with more tokens in a micro-batch, more slots, a longer context or more lanes", () => {
    const more = fc.nat(256);
    assertProperty(
      fc.property(more, fc.nat(24), more, fc.nat(2), (tokens, slots, length, lanes) => {
        const at = (changed: typeof config) => expectedPeak({ ...question, config: changed }, models);
        const { actor, generation, model, rollout } = config;
        const peak = at(config);
        const micro_batch_tokens = actor.micro_batch_tokens + tokens;
        expect(at({ ...config, actor: { ...actor, micro_batch_tokens } })).toBeGreaterThanOrEqual(peak);
        expect(at({ ...config, generation: { ...generation, slots: 8 + slots } })).toBeGreaterThanOrEqual(peak);
        expect(at({ ...config, model: { ...model, learner_lanes: 1 + lanes } })).toBeGreaterThanOrEqual(peak);
        const longer = { ...rollout, max_model_len: rollout.max_model_len + length };
        const wide = { ...actor, micro_batch_tokens: 1024 };
        expect(at({ ...config, actor: wide, rollout: longer })).toBeGreaterThanOrEqual(
          at({ ...config, actor: wide }) * 0.5,
        );
      }),
      { numRuns: 10 },
    );
  });
});

describe("the shapes", () => {
  it("fill a micro-batch with the longest sequences", () => {
    expect(passShape(config)).toEqual({ sizes: { batch: 4, time: 64, targets: 128 }, tokens: 256, passes: 8 });
  });

  it("take one sequence where it is longer than a micro-batch", () => {
    const long = { ...config, rollout: { ...config.rollout, max_model_len: 700 } };
    expect(passShape(long).sizes).toMatchObject({ batch: 1, time: 704 });
  });

  it("have the prompts of groups once where sequences share them", () => {
    const { max_model_len } = config.rollout;
    const { env_groups, group_size } = config.es_manager.train;
    const once = { ...config.rollout, max_turn: 1, response_length: 12 };
    const wide = { ...config.actor, micro_batch_tokens: 4096, use_prefix_grouper: true };
    const { sizes, passes } = passShape({ ...config, actor: wide, rollout: once });
    expect(sizes).toMatchObject({
      groups: Math.min(env_groups, config.actor.ppo_mini_batch_size / group_size),
      members: group_size,
      prompt: bucket(max_model_len - 12),
      time: 16,
    });
    expect(passes).toBe(1);
  });

  it("go on with a sequence only where there is a second turn or a prompt longer than a step", () => {
    const once = { ...config, rollout: { ...config.rollout, max_turn: 1 } };
    expect(generatorShape(config).extend).toBeDefined();
    expect(generatorShape(once).extend).toBeUndefined();
    expect(generatorShape({ ...once, generation: { ...once.generation, prefill_tokens: 32 } }).extend).toBeDefined();
  });
});

describe("what to turn down", () => {
  it("names keys with what planning again saves, the most first", () => {
    const many = { ...config, model: { ...config.model, learner_lanes: 4 } };
    const { peak, savings } = plan({ ...question, config: many }, models);
    const [first] = savings;
    expect(first).toMatchObject({ key: "model.learner_lanes", from: "4", to: "2" });
    const fewer = { ...many, model: { ...many.model, learner_lanes: 2 } };
    expect(first?.bytes).toBe(peak - expectedPeak({ ...question, config: fewer }, models));
    const sorted = savings.map(({ bytes: each }) => each);
    expect(sorted).toEqual(sorted.toSorted((a, b) => b - a));
  });
});

describe("the speed", () => {
  it("is left out where the machine was not measured", () => {
    expect(plan(question, models).speed).toBeNull();
  });

  it("grows with the machine, and with lanes as far as there are cores", () => {
    const at = (unit: { flops: number; bytes: number; cores: number }, lanes = 1) =>
      plan({ ...question, unit, config: { ...config, model: { ...config.model, learner_lanes: lanes } } }, models)
        .speed;
    const [slow, fast] = [at({ flops: 1e9, bytes: 1e9, cores: 2 }), at({ flops: 2e9, bytes: 2e9, cores: 2 })];
    expect(fast?.decode).toBeCloseTo(2 * (slow?.decode ?? 0));
    expect(fast?.update).toBeCloseTo(2 * (slow?.update ?? 0));
    const unit = { flops: 1e9, bytes: 1e9, cores: 2 };
    expect(at(unit, 2)?.update).toBeCloseTo(2 * (slow?.update ?? 0));
    expect(at(unit, 4)?.update).toBe(at(unit, 2)?.update);
  });
});
