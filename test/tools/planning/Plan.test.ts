/** The memory that a run is expected to hold: sums by owner, their change with the run file's keys, and the savings of remedies. */
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { bucket } from "../../../src/domain/Passes.ts";
import { type DecoderConfig, parameterCount, parameters } from "../../../src/model/graphs/Architecture.ts";
import { trainedParameters } from "../../../src/model/graphs/TrainedParameters.ts";
import { deviceItems } from "../../../src/tools/planning/DeviceOwners.ts";
import { Models } from "../../../src/tools/planning/Models.ts";
import { type Item, items } from "../../../src/tools/planning/Owners.ts";
import { expectedPeak, peakOf, plan } from "../../../src/tools/planning/Plan.ts";
import type { PlannedRun } from "../../../src/tools/planning/PlannedRun.ts";
import { remedies } from "../../../src/tools/planning/remedies.ts";
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
const run: PlannedRun = { pipeline: "train", config, decoder: tiny, tokenizerBytes: 1_000, promptTokens: null };
const weights = 4 * parameterCount(parameters(tiny));

const bytes = (what: string, found: readonly Item[] = items(run, models)): number =>
  found.filter((item) => item.what === what).reduce((sum, item) => sum + item.bytes, 0);

describe("what the owners hold", () => {
  it("is weights, moments and caches by their sizes", () => {
    expect(bytes("policy: weights")).toBe(weights);
    expect(bytes("policy: moments")).toBe(2 * weights);
    expect(bytes("weights")).toBe(weights);
    const { capacity, rows } = generatorShape(run);
    expect({ capacity, rows }).toEqual({ capacity: 64, rows: 8 });
    expect(bytes("keys and values")).toBe(8 * 64 * 2 * tiny.layers * tiny.kvHeads * tiny.headDim * 4);
  });

  it("has a reference and a critic where the run has them", () => {
    expect(bytes("reference: weights")).toBe(0);
    const penalised = { ...config, actor: { ...config.actor, use_kl_loss: true } };
    expect(bytes("reference: weights", items({ ...run, config: penalised }, models))).toBe(weights);
    const alone = { ...config, algorithm: { ...config.algorithm, adv_estimator: "grpo" as const } };
    expect(bytes("critic: weights")).toBeGreaterThan(weights);
    expect(bytes("critic: weights", items({ ...run, config: alone }, models))).toBe(0);
  });

  it("has a copy of the weights for each lane and each generator", () => {
    const model = { ...config.model, learner_lanes: 3, generator_threads: 2 };
    const more = items({ ...run, config: { ...config, model } }, models);
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
    // Each of several generators keeps the version before the newest, for a validation that is about to begin.
    expect(bytes("weights", more)).toBe(2 * 2 * weights);
  });
});

describe("what a fixed lag holds", () => {
  const pipeline = { ...config.pipeline, mode: "async", schedule: "fixed_lag", max_staleness: 3 } as const;
  const lagged: PlannedRun = { ...run, config: { ...config, pipeline } };

  it("is the versions of all open windows, in the learner and in each generator", () => {
    const found = items(lagged, models);
    expect(bytes("weights", found)).toBe(4 * weights);
    expect(bytes("versions of open windows", found)).toBe(4 * weights);
    expect(bytes("versions of open windows")).toBe(0);
    const unpacked = { ...lagged.config, model: { ...lagged.config.model, generator_prepack: "never" as const } };
    expect(bytes("weights", items({ ...lagged, config: unpacked, pipeline: "evaluate" }, models))).toBe(weights);
  });

  it("is an adapter alone where one is trained", () => {
    const decoder: DecoderConfig = { ...tiny, adapter: { rank: 2, alpha: 4, targets: ["q_proj"] } };
    const found = items({ ...lagged, decoder }, models);
    expect(bytes("versions of open windows", found)).toBe(4 * 4 * parameterCount(trainedParameters(decoder)));
  });

  it("is less without it, which is what is suggested", () => {
    expect(remedies(lagged.config).find(({ key }) => key === "pipeline.schedule")).toMatchObject({
      to: "free_running",
    });
    expect(remedies(config).map(({ key }) => key)).not.toContain("pipeline.schedule");
  });
});

describe("what behaviour cloning holds", () => {
  const decoder: DecoderConfig = { ...tiny, adapter: { rank: 2, alpha: 4, targets: ["q_proj"] } };
  const sft: PlannedRun = { ...run, pipeline: "sft", decoder };
  const found = items(sft, models);
  const ofOwner = (owner: string) => found.filter((item) => item.owner === owner).map(({ what }) => what);

  it("is the model once for all threads, and the adapter, its moments and its passes in the learner", () => {
    expect(new Set(found.map(({ owner }) => owner))).toEqual(new Set(["main thread", "all threads", "learner"]));
    expect(ofOwner("all threads")).toEqual(["weights beside the adapter"]);
    expect(bytes("weights beside the adapter", found)).toBe(weights);
    expect(bytes("policy: moments", found)).toBe(2 * 4 * parameterCount(trainedParameters(decoder)));
    expect(ofOwner("learner")).toEqual(expect.arrayContaining(["activations: cloning", "activations: score"]));
  });

  it("has no values of models that it opens and does not run", () => {
    expect(ofOwner("learner")).not.toContain("activations: actor");
    expect(ofOwner("learner")).not.toContain("activations: critic");
  });
});

describe("what an evaluation holds", () => {
  it("is the weights in the main thread and packed in each generator, and no learner", () => {
    const found = items({ ...run, pipeline: "evaluate" }, models);
    expect(new Set(found.map(({ owner }) => owner))).toEqual(new Set(["main thread", "generator 1", "step threads"]));
    expect(bytes("weights, loaded", found)).toBe(weights);
    expect(bytes("weights", found)).toBe(0);
    expect(bytes("weights, prepacked", found)).toBeGreaterThan(2 * weights);
  });
});

describe("what is on a device", () => {
  const onWebgpu = { ...config, model: { ...config.model, device: "webgpu" } };
  const deviceBytes = (what: string, planned: PlannedRun): number => bytes(what, deviceItems(planned));

  it("is nothing where all compute on the CPU", () => {
    expect(deviceItems(run)).toEqual([]);
  });

  it("is weights, moments and caches where they stay there", () => {
    const there = { ...run, config: onWebgpu };
    expect(deviceBytes("policy: weights", there)).toBe(weights);
    expect(deviceBytes("policy: moments", there)).toBe(2 * weights);
    expect(deviceBytes("keys and values", there)).toBe(bytes("keys and values"));
    expect(deviceBytes("weights beside the adapter", there)).toBe(0);
  });

  it("is half of it for matrices and caches in float16", () => {
    const model = { ...onWebgpu.model, generator_dtype: "float16" as const };
    const there = { ...run, config: { ...onWebgpu, model } };
    expect(deviceBytes("keys and values", there)).toBe(bytes("keys and values") / 2);
    const vectors = parameters(tiny).filter(({ shape }) => shape.length === 1);
    expect(deviceBytes("weights", there)).toBe(weights / 2 + 2 * parameterCount(vectors));
    expect(deviceBytes("policy: weights", there)).toBe(weights);
  });

  it("is the base once for each role, and of the rest the adapter's", () => {
    const decoder: DecoderConfig = { ...tiny, adapter: { rank: 2, alpha: 4, targets: ["q_proj"] } };
    const there = { ...run, config: onWebgpu, decoder };
    expect(deviceBytes("weights beside the adapter", there)).toBe(2 * weights);
    expect(deviceBytes("policy: moments", there)).toBe(2 * 4 * parameterCount(trainedParameters(decoder)));
    const one = { ...there, config: { ...onWebgpu, model: { ...onWebgpu.model, generator_device: "cpu" } } };
    expect(deviceBytes("weights beside the adapter", one)).toBe(weights);
  });
});

describe("the peak", () => {
  it("adds updates to rollouts where they go on together, and takes the larger where they go by turns", () => {
    const found = [
      { owner: "a", what: "held", bytes: 1, during: "always" },
      { owner: "a", what: "passes", bytes: 20, during: "update" },
      { owner: "b", what: "steps", bytes: 400, during: "rollout" },
    ] as const;
    expect(peakOf(found, "async")).toBe(421);
    expect(peakOf(found, "sync")).toBe(401);
    expect(peakOf(found.slice(0, 2), "lockstep")).toBe(21);
  });

  it("never falls with more tokens in a micro-batch, more slots, a longer context or more lanes", () => {
    const more = fc.nat(256);
    assertProperty(
      fc.property(more, fc.nat(24), more, fc.nat(2), (tokens, slots, length, lanes) => {
        const at = (changed: typeof config) => expectedPeak({ ...run, config: changed }, models);
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
    expect(passShape(run)).toEqual({ sizes: { batch: 4, time: 64, targets: 128 }, tokens: 256, passes: 8 });
  });

  it("take one sequence where it is longer than a micro-batch", () => {
    const long = { ...config, rollout: { ...config.rollout, max_model_len: 700 } };
    expect(passShape({ ...run, config: long }).sizes).toMatchObject({ batch: 1, time: 704 });
  });

  it("have the prompts of groups once where sequences share them", () => {
    const { max_model_len } = config.rollout;
    const { env_groups, group_size } = config.es_manager.train;
    const once = { ...config.rollout, max_turn: 1, response_length: 12 };
    const wide = { ...config.actor, micro_batch_tokens: 4096, use_prefix_grouper: true };
    const { sizes, passes } = passShape({ ...run, config: { ...config, actor: wide, rollout: once } });
    expect(sizes).toMatchObject({
      groups: Math.min(env_groups, config.actor.ppo_mini_batch_size / group_size),
      members: group_size,
      prompt: bucket(max_model_len - 12),
      time: 16,
    });
    expect(passes).toBe(1);
  });

  it("end with prompt and reply where an episode has one turn and its prompt is known", () => {
    const once = { ...config, rollout: { ...config.rollout, max_turn: 1 } };
    const measuredRun = { ...run, config: once, promptTokens: 20 };
    expect(passShape(measuredRun).sizes).toMatchObject({ time: bucket(36) });
    expect(passShape({ ...measuredRun, config }).sizes).toMatchObject({ time: 64 });
    expect(passShape({ ...measuredRun, promptTokens: 1_000 }).sizes).toMatchObject({ time: 64 });
  });

  it("fill the context where an agent may call several times, whatever rollout.max_turn says", () => {
    const rollout = { ...config.rollout, max_turn: 1 };
    const agent = { ...config.agent, path: "./agent.ts", max_calls: 8 };
    const agentRun = { ...run, config: { ...config, agent, rollout }, promptTokens: 20 };
    expect(passShape(agentRun).sizes).toMatchObject({ time: 64 });
    expect(generatorShape(agentRun).extend).toBeDefined();
  });

  it("feed the first prompts of groups alone, unless episodes lose their rows to others", () => {
    const es_manager = { ...config.es_manager, train: { ...config.es_manager.train, env_groups: 2, group_size: 4 } };
    const few = { ...config, es_manager, pipeline: { ...config.pipeline, mode: "sync" as const } };
    const measuredRun = { ...run, config: few, promptTokens: 20 };
    const atOnce = { ...es_manager.val, env_groups: 1, group_size: 1 };
    expect(
      generatorShape({ ...measuredRun, config: { ...few, es_manager: { ...es_manager, val: atOnce } } }).prefill,
    ).toEqual({
      batch: 2,
      time: 32,
    });
    const scarce = { ...few, generation: { ...few.generation, slots: 4 } };
    expect(generatorShape({ ...measuredRun, config: scarce }).prefill.time).toBeGreaterThan(32);
  });

  it("go on with a sequence only where there is a second turn or a prompt longer than a step", () => {
    const once = { ...config, rollout: { ...config.rollout, max_turn: 1 } };
    expect(generatorShape(run).extend).toBeDefined();
    expect(generatorShape({ ...run, config: once }).extend).toBeUndefined();
    const stepwise = { ...once, generation: { ...once.generation, prefill_tokens: 32 } };
    expect(generatorShape({ ...run, config: stepwise }).extend).toBeDefined();
  });
});

describe("what to turn down", () => {
  it("names keys with what planning again saves, the most first", () => {
    const many = { ...config, model: { ...config.model, learner_lanes: 4 } };
    const { peak, savings } = plan({ ...run, config: many }, { models });
    const [first] = savings;
    expect(first).toMatchObject({ key: "model.learner_lanes", from: "4", to: "2" });
    const fewer = { ...many, model: { ...many.model, learner_lanes: 2 } };
    expect(first?.bytes).toBe(peak - expectedPeak({ ...run, config: fewer }, models));
    const sorted = savings.map(({ bytes: each }) => each);
    expect(sorted).toEqual(sorted.toSorted((a, b) => b - a));
  });
});

describe("the speed", () => {
  it("is left out where the machine was not measured", () => {
    expect(plan(run, { models }).speed).toBeNull();
  });

  it("grows with the machine, and with lanes as far as there are cores", () => {
    const at = (unit: { flops: number; bytes: number; cores: number }, lanes = 1) =>
      plan({ ...run, config: { ...config, model: { ...config.model, learner_lanes: lanes } } }, { models, unit }).speed;
    const [slow, fast] = [at({ flops: 1e9, bytes: 1e9, cores: 2 }), at({ flops: 2e9, bytes: 2e9, cores: 2 })];
    expect(fast?.decode).toBeCloseTo(2 * (slow?.decode ?? 0));
    expect(fast?.update).toBeCloseTo(2 * (slow?.update ?? 0));
    const unit = { flops: 1e9, bytes: 1e9, cores: 2 };
    expect(at(unit, 2)?.update).toBeCloseTo(2 * (slow?.update ?? 0));
    expect(at(unit, 4)?.update).toBe(at(unit, 2)?.update);
  });
});
