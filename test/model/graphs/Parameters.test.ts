import { describe, expect, it } from "vitest";
import { criticParameters, parameterCount, parameters } from "../../../src/model/graphs/Architecture.ts";
import { copyOf, initialise, initialiseFrom, parametersOf, tensorOf } from "../../../src/model/graphs/Parameters.ts";
import { decoders, draws, tiny } from "../tiny.ts";

const actor = parameters(tiny);
const critic = criticParameters(tiny);

describe("Parameters", () => {
  it("tile one buffer in the order of the specs", () => {
    const fresh = parametersOf(actor);
    fresh.tensors.forEach((tensor, index) => {
      tensor.fill(index);
    });
    expect(fresh.flat.length).toBe(parameterCount(actor));
    expect(Array.from(new Set(fresh.flat))).toEqual(actor.map((_, index) => index));
    expect(fresh.tensors.map(({ length }) => length)).toEqual(
      actor.map(({ shape }) => shape.reduce((size, dim) => size * dim)),
    );
  });

  it("refuse a buffer of another length", () => {
    expect(() => parametersOf(actor, new Float32Array(3))).toThrow(RangeError);
  });

  it("start the same from the same seed, with unit norms and zero biases", () => {
    const first = initialise(actor, draws(1));
    expect(initialise(actor, draws(1)).flat).toEqual(first.flat);
    expect(initialise(actor, draws(2)).flat).not.toEqual(first.flat);
    expect(new Set(tensorOf(first, "model.norm.weight"))).toEqual(new Set([1]));
    expect(new Set(tensorOf(first, "model.layers.0.self_attn.q_proj.bias"))).toEqual(new Set([0]));
    const table = tensorOf(first, "model.embed_tokens.weight")!;
    const deviation = Math.sqrt(table.reduce((sum, value) => sum + value * value, 0) / table.length);
    expect(deviation).toBeCloseTo(0.02, 2);
  });

  it.each(decoders)("of a %s start with unit norms", (_, config) => {
    const { specs, tensors } = initialise(parameters(config), draws(1));
    const norms = specs.flatMap(({ name }, index) => (name.includes("norm") ? [...tensors[index]!] : []));
    expect(new Set(norms)).toEqual(new Set([1]));
  });

  it.each(decoders)("of a %s's critic are its trunk's, without an output matrix, and a head", (_, config) => {
    const headNames = ["lm_head.weight", "value_head.weight", "value_head.bias"];
    const names = (specs: typeof actor) => specs.map(({ name }) => name).filter((name) => !headNames.includes(name));
    const critic = criticParameters(config);
    expect(names(critic)).toEqual(names(parameters(config)));
    expect(critic.map(({ name }) => name)).not.toContain("lm_head.weight");
  });

  it("of a copy are its own", () => {
    const first = initialise(actor, draws(1));
    const second = copyOf(first);
    second.flat.fill(3);
    expect(first.flat).toEqual(initialise(actor, draws(1)).flat);
    expect(second.tensors[0]![0]).toBe(3);
  });

  it("of a critic start from the actor's trunk, with the head of its own", () => {
    const trunk = initialise(actor, draws(1));
    const halves = parametersOf(critic, new Float32Array(parameterCount(critic)).fill(0.5));
    const result = initialiseFrom(critic, trunk, halves);
    expect(tensorOf(result, "model.embed_tokens.weight")).toEqual(tensorOf(trunk, "model.embed_tokens.weight"));
    expect(new Set(tensorOf(result, "value_head.weight"))).toEqual(new Set([0.5]));
  });
});
