/** One model with the same made-up inputs on the CPU and on WebGPU, and how far the outputs are apart. */
import type { Device } from "../../src/domain/Device.ts";
import { stream } from "../../src/domain/Random.ts";
import { type Feeds, float32, int64, type Outputs, Session } from "../../src/model/runtime/Session.ts";
import { add } from "../../src/model/tensor/Elementwise.ts";
import { Graph } from "../../src/model/tensor/Graph.ts";
import type { OnnxModel, OnnxValue } from "../../src/model/tensor/Onnx.ts";

export const webgpu: Device = { kind: "webgpu", index: 0 };

/** Sizes of the symbols that the product's models have. */
const sizes: Readonly<Record<string, number>> = {
  batch: 3,
  time: 12,
  targets: 9,
  capacity: 64,
  rows: 2,
  groups: 2,
  prompt: 5,
  members: 2,
  fed: 2,
  pool: 2,
  others: 2,
  out: 3,
  grown: 64,
  tokens: 20,
};

/** Exclusive upper ends of whole numbers, by input. */
const below: Readonly<Record<string, number>> = {
  lengths: 12,
  before: 11,
  pastLengths: 40,
  segments: 3,
  positions: 12,
  sequences: 3,
  from: 2,
  back: 4,
  rows: 4,
  valid: 12,
  ranks: 20,
};

const random = (name: string) =>
  stream({ seed: 3, purpose: "play", counters: [...name].map((letter) => letter.charCodeAt(0)) });

/** The same where sequences share prompts: any of the prompts' 10 rows and the continuations' 48. */
const belowShared: Readonly<Record<string, number>> = { ...below, lengths: 5, before: 58 };

const filled = ({ name, dtype, shape }: OnnxValue, vocabulary: number, ends: Readonly<Record<string, number>>) => {
  const dims = shape.map((dim) => (typeof dim === "number" ? dim : (sizes[dim] ?? Number.NaN)));
  const count = dims.reduce((size, dim) => size * dim, 1);
  const draw = random(name);
  if (dtype === "int64") {
    const end = ends[name] ?? vocabulary;
    return int64(
      BigInt64Array.from({ length: count }, () => BigInt(name === "lengths" ? 1 + draw.int(end) : draw.int(end))),
      dims,
    );
  }
  const value = (): number => {
    if (name === "temperature" || name === "max_norm" || name === "keep" || name === "root_correction") return 1;
    if (name === "weights" || name === "importance" || name === "second") return 0.1 + draw.uniform();
    if (name.endsWith("layernorm.weight") || name === "model.norm.weight") return 1 + 0.1 * draw.normal();
    return 0.3 * draw.normal();
  };
  return float32(Float32Array.from({ length: count }, value), dims);
};

/** A session that keeps the device and its compiled programs for the tests of a file, until it is closed. */
export const heldDevice = (): Promise<Session> => {
  const graph = new Graph("held");
  graph.output("y", add(graph.input("x", "float32", ["n"]), 1));
  return Session.open(graph.toModel(), { device: webgpu });
};

/** Inputs of a model, a function of their names alone. */
export const feedsOf = ({ inputs }: OnnxModel, vocabulary: number): Feeds => {
  const ends = inputs.some(({ name }) => name === "prompts") ? belowShared : below;
  return Object.fromEntries(inputs.map((input) => [input.name, filled(input, vocabulary, ends)]));
};

/** Largest difference of each output, relative to the output's largest number. */
export const differences = (expected: Outputs, actual: Outputs): Readonly<Record<string, number>> => {
  const difference = (name: string): number => {
    const [a, b] = [expected.float32(name), actual.float32(name)];
    let [worst, largest] = [0, 1e-6];
    for (const [i, value] of a.entries()) {
      const off = Math.abs(value - (b[i] ?? Number.NaN));
      // a NaN must not pass for small
      if (!(off <= worst)) worst = off;
      largest = Math.max(largest, Math.abs(value));
    }
    return worst / largest;
  };
  return Object.fromEntries(expected.names.map((name) => [name, difference(name)]));
};

/** `differences` of a model on the CPU and on WebGPU. */
export const apart = async (model: OnnxModel, vocabulary: number): Promise<Readonly<Record<string, number>>> => {
  const feeds = feedsOf(model, vocabulary);
  await using onCpu = await Session.open(model);
  await using onDevice = await Session.open(model, { device: webgpu });
  using expected = await onCpu.run(feeds);
  using actual = await onDevice.run(feeds);
  return differences(expected, actual);
};
