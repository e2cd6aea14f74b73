/**
 * Merges an adapter into its base weights: W + (alpha / rank) B A for every adapted layer, in the runtime's float32.
 * Invariant: the result has the parameters of the decoder without an adapter.
 */

import { type Adapter, scaleOf } from "./graphs/Adapter.ts";
import { type FrozenParameters, namedTensors, type Parameters, parametersOf, tensorOf } from "./graphs/Parameters.ts";
import { loraA, loraB } from "./graphs/TrainedParameters.ts";
import { float32, Session } from "./runtime/Session.ts";
import { mul } from "./tensor/Elementwise.ts";
import { Graph } from "./tensor/Graph.ts";
import { gemm } from "./tensor/Linear.ts";

const mergeGraph = () => {
  const graph = new Graph("merge");
  const weight = graph.input("weight", "float32", ["out", "in"]);
  const a = graph.input("a", "float32", ["rank", "in"]);
  const b = graph.input("b", "float32", ["out", "rank"]);
  const scale = graph.input("scale", "float32", []);
  graph.output("merged", gemm(mul(b, scale), a, { bias: weight }));
  return graph.toModel();
};

/** Returns the weights `frozen` with `trained`, the numbers of `adapter`, merged in. */
export const mergeAdapter = async (
  frozen: FrozenParameters,
  adapter: Adapter,
  trained: FrozenParameters,
): Promise<Parameters> => {
  const result = parametersOf(frozen.specs);
  await using session = await Session.open(mergeGraph());
  for (const [i, { name, shape, values }] of namedTensors(result).entries()) {
    const weight = frozen.tensors[i]!;
    const module = name.replace(/\.weight$/, "");
    const [a, b] = [tensorOf(trained, loraA(module)), tensorOf(trained, loraB(module))];
    if (a === undefined || b === undefined) {
      values.set(weight);
      continue;
    }
    const [out = 0, width = 0] = shape;
    using outputs = await session.run({
      weight: float32(weight.slice(), shape),
      a: float32(a, [adapter.rank, width]),
      b: float32(b, [out, adapter.rank]),
      scale: float32(Float32Array.of(scaleOf(adapter)), []),
    });
    values.set(outputs.float32("merged"));
  }
  return result;
};
