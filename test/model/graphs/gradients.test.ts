import * as tf from "@tensorflow/tfjs";
import { beforeAll, describe, expect, it } from "vitest";
import { criticParameters, type ParameterSpec, parameters } from "../../../src/model/graphs/Architecture.ts";
import { weightInputs } from "../../../src/model/graphs/Decoder.ts";
import type { Parameters } from "../../../src/model/graphs/Parameters.ts";
import { policyForward, sequenceTargets, valueForward } from "../../../src/model/graphs/Score.ts";
import { add, mul } from "../../../src/model/tensor/Elementwise.ts";
import { gradients } from "../../../src/model/tensor/Gradients.ts";
import { Graph, type Tensor } from "../../../src/model/tensor/Graph.ts";
import { reduceSum } from "../../../src/model/tensor/Layout.ts";
import { type Feeds, float32, int64, type Results, runOnce, scalar } from "../tensor/session.ts";
import { decoders, draws, randomIds, randomWeights, weightFeeds } from "../tiny.ts";
import { oracleScores, oracleTrunk } from "./oracle.ts";

const [batch, time] = [2, 7];
const rows = [randomIds(time, 21), randomIds(time, 22)];
const temperature = 0.8;
const random = draws(5);
/** Row and column before each target: some of the ids, in no order, one of them twice. */
const targets: ReadonlyArray<readonly [row: number, column: number]> = [
  [1, 3],
  [0, 0],
  [0, 5],
  [1, 0],
  [0, 2],
  [1, 3],
];
const before = int64(
  [targets.length],
  targets.map(([row, column]) => row * time + column),
);
const [a, b] = [targets.map(() => random.normal()), targets.map(() => random.normal())];
/** The weights of a row's targets, summed by column. */
const byColumn = (weights: readonly number[], row: number, columns: number) =>
  tf.tensor1d(
    Array.from({ length: columns }, (_, column) =>
      targets.reduce((sum, [r, c], i) => (r === row && c === column ? sum + weights[i]! : sum), 0),
    ),
  );

beforeAll(() => {
  tf.env().set("IS_TEST", true);
  return tf.setBackend("cpu");
});

/** Gradients by name of what `loss` builds from the weights and ids. */
const ours = (
  specs: readonly ParameterSpec[],
  weights: Parameters,
  feeds: Feeds,
  loss: (weights: ReadonlyMap<string, Tensor>, ids: Tensor, input: (name: string) => Tensor) => Tensor,
): Promise<Results> => {
  const graph = new Graph();
  const inputs = weightInputs(graph, specs);
  const ids = graph.input("ids", "int64", [batch, time]);
  for (const [name, { dtype, dims }] of Object.entries(feeds)) graph.input(name, dtype, dims);
  const names = [...inputs.keys()];
  gradients(
    loss(inputs, ids, (name) => graph.inputs.get(name)!),
    [...inputs.values()],
  ).forEach((gradient, index) => {
    graph.output(`gradient ${names[index]}`, gradient);
  });
  return runOnce(graph.toModel(), { ...weightFeeds(weights), ...feeds, ids: int64([batch, time], rows.flat()) });
};

/** The same from the oracle: `loss` of one row, added up over the rows. */
const theirs = (
  weights: Parameters,
  loss: (weights: Readonly<Record<string, tf.Tensor>>, row: number) => tf.Tensor,
): ReadonlyMap<string, ArrayLike<number>> => {
  const tensors = weights.specs.map(({ shape }, index) => tf.tensor(weights.tensors[index]!, [...shape]));
  const names = weights.specs.map(({ name }) => name);
  const total = (...args: tf.Tensor[]): tf.Tensor => {
    const named = Object.fromEntries(args.map((tensor, index) => [names[index], tensor]));
    return rows.map((_, row) => loss(named, row)).reduce((a, b) => a.add(b));
  };
  const results = tf.grads(total)(tensors);
  return new Map(results.map((gradient, index) => [names[index]!, gradient.dataSync()]));
};

const expectSame = (actual: Results, expected: ReadonlyMap<string, ArrayLike<number>>): void => {
  for (const [name, values] of expected) {
    const list = Array.from(values);
    const largest = Math.max(...list.map(Math.abs));
    const worst = Math.max(...list.map((value, index) => Math.abs(value - actual[`gradient ${name}`]![index]!)));
    expect(largest, name).toBeGreaterThan(0);
    expect(worst / largest, name).toBeLessThan(1e-3);
  }
};

describe.each(decoders)("gradients of a whole %s against tfjs", (_, config) => {
  it("agree for log-probabilities and entropies", async () => {
    const specs = parameters(config);
    const weights = randomWeights(specs);
    const actual = await ours(
      specs,
      weights,
      { before, a: float32([a.length], a), b: float32([b.length], b), temperature: scalar(temperature) },
      (inputs, ids, input) => {
        const { logp, entropy } = policyForward(
          config,
          inputs,
          sequenceTargets(ids, input("before")),
          input("temperature"),
        );
        return add(reduceSum(mul(logp, input("a"))), reduceSum(mul(entropy, input("b"))));
      },
    );
    const expected = theirs(weights, (named, row) => {
      const { logp, entropy } = oracleScores(config, named, rows[row]!, temperature);
      return logp
        .mul(byColumn(a, row, time - 1))
        .sum()
        .add(entropy.mul(byColumn(b, row, time - 1)).sum());
    });
    expectSame(actual, expected);
  });

  it("agree for a critic's values", async () => {
    const specs = criticParameters(config);
    const weights = randomWeights(specs);
    const feeds = { before, a: float32([a.length], a) };
    const actual = await ours(specs, weights, feeds, (inputs, ids, input) =>
      reduceSum(mul(valueForward(config, inputs, sequenceTargets(ids, input("before"))), input("a"))),
    );
    const expected = theirs(weights, (named, row) => {
      const head = named["value_head.weight"] as tf.Tensor2D;
      const values = tf
        .matMul(oracleTrunk(config, named, rows[row]!), head, false, true)
        .add(named["value_head.bias"]!);
      return values
        .reshape([time])
        .mul(byColumn(a, row, time))
        .sum();
    });
    expectSame(actual, expected);
  });
});
