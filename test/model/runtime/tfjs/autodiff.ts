/**
 * Gradients of a scalar by a graph's inputs, made twice: by our backward pass, run by onnxruntime, and by tfjs's own differentiation of the
 * forward pass, run by the executor. A graph with `broken` derivatives shows that the comparison notices a wrong one.
 */
import * as tf from "@tensorflow/tfjs";
import { type Feeds, Session } from "../../../../src/model/runtime/Session.ts";
import { Executor, toInt32 } from "../../../../src/model/runtime/tfjs/Executor.ts";
import { gradients } from "../../../../src/model/tensor/Gradients.ts";
import type { Graph, Producer, Tensor } from "../../../../src/model/tensor/Graph.ts";
import type { OnnxModel } from "../../../../src/model/tensor/Onnx.ts";

/** A graph, its loss, and the inputs to differentiate by. */
export interface Differentiable {
  readonly graph: Graph;
  readonly loss: Tensor;
  readonly by: readonly string[];
}

export type Gradients = ReadonlyMap<string, Float32Array>;

const inputsOf = ({ by, graph }: Differentiable): readonly Tensor[] => by.map((name) => graph.inputs.get(name)!);

const gradientName = (name: string): string => `gradient ${name}`;

/** The model of the loss and of our gradients. */
export const backwardModel = (differentiable: Differentiable): OnnxModel => {
  const { by, graph, loss } = differentiable;
  graph.output("loss", loss);
  for (const [i, gradient] of gradients(loss, inputsOf(differentiable)).entries())
    graph.output(gradientName(by[i]!), gradient);
  return graph.toModel();
};

/** The gradients that a model made by `backwardModel` gives in onnxruntime. */
export const ours = async (model: OnnxModel, by: readonly string[], feeds: Feeds): Promise<Gradients> => {
  await using session = await Session.open(model, { runtime: "onnx" });
  const results = await session.run(feeds);
  return new Map(by.map((name) => [name, results.float32(gradientName(name))]));
};

const onDevice = (name: string, feed: Feeds[string]): tf.Tensor => {
  const dims = [...feed.dims];
  if (feed.type === "int64") return tf.tensor(toInt32(name, feed.data), dims, "int32");
  if (feed.type === "float16") throw new TypeError(`"${name}" is float16`);
  if (feed.type === "uint8") return tf.tensor(Int32Array.from(feed.data), dims, "int32");
  return tf.tensor(feed.data, dims, feed.type);
};

/** The same gradients by tfjs's differentiation of the loss's forward pass. */
export const tfjsGradients = ({ by, graph, loss }: Differentiable, feeds: Feeds): Gradients => {
  graph.output("loss", loss);
  const executor = new Executor(tf as never, graph.toModel());
  const gradientsByInput = new Map<string, Float32Array>();
  tf.tidy(() => {
    const tensors = Object.fromEntries(Object.entries(feeds).map(([name, feed]) => [name, onDevice(name, feed)]));
    const total = (...args: tf.Tensor[]): tf.Scalar => {
      const changed = Object.fromEntries(args.map((tensor, i) => [by[i]!, tensor]));
      return executor.forward({ ...tensors, ...changed }, { differentiable: true }).loss as tf.Scalar;
    };
    const results = tf.grads(total)(by.map((name) => tensors[name]!));
    for (const [i, gradient] of results.entries()) gradientsByInput.set(by[i]!, Float32Array.from(gradient.dataSync()));
  });
  executor.dispose();
  return gradientsByInput;
};

/** The largest difference of two sets of gradients, each in units of the largest number of its tensor. */
export const distance = (actual: Gradients, expected: Gradients): number => {
  let worst = 0;
  for (const [name, values] of expected) {
    const largest = values.reduce((most, value) => Math.max(most, Math.abs(value)), 1e-30);
    const far = values.reduce((most, value, i) => Math.max(most, Math.abs(value - actual.get(name)![i]!)), 0);
    worst = Math.max(worst, Number.isNaN(far) ? Number.POSITIVE_INFINITY : far / largest);
  }
  return worst;
};

/** A derivative of one kind of operation by one of its inputs. */
export interface Derivative {
  readonly type: string;
  readonly input: number;
}

/** Every derivative that the way from the loss to its inputs takes, each once. */
export const derivativesOf = ({ by, graph, loss }: Differentiable): readonly Derivative[] => {
  const dependent = new Set(by.map((name) => graph.inputs.get(name)!));
  const needed = new Set<Tensor>([loss]);
  const onPath = graph.producers.filter(({ inputs, outputs, vjp }) => {
    if (vjp === undefined || !inputs.some((input) => input !== undefined && dependent.has(input))) return false;
    for (const output of outputs) dependent.add(output);
    return true;
  });
  const found = new Map<string, Derivative>();
  for (const { inputs, outputs, type } of onPath.toReversed()) {
    if (!outputs.some((output) => needed.has(output))) continue;
    for (const [input, tensor] of inputs.entries()) {
      if (tensor === undefined || !dependent.has(tensor)) continue;
      needed.add(tensor);
      found.set(`${type} ${input}`, { type, input });
    }
  }
  return [...found.values()];
};

export type Wrong = (gradient: Tensor) => Tensor | undefined;

/** Makes a derivative wrong wherever the graph has it. Producers are changed in place, before the backward pass is built. */
export const breakDerivative = ({ graph }: Differentiable, { input, type }: Derivative, wrong: Wrong): void => {
  for (const producer of graph.producers) {
    const { vjp } = producer;
    if (producer.type !== type || vjp === undefined) continue;
    const broken: Producer["vjp"] = (incoming, outputs, requested) =>
      vjp(incoming, outputs, requested)?.map((gradient, i) => (i === input && gradient ? wrong(gradient) : gradient));
    Object.assign(producer, { vjp: broken });
  }
};

/** A change of a model's backward pass: what is changed, and the model with it. */
export interface Mutant {
  readonly name: string;
  readonly model: OnnxModel;
}

/** The backward model with one term of one of its sums left out, for every term of every sum of numbers that only gradients need. */
export const withoutOneTerm = (make: () => Differentiable): readonly Mutant[] => {
  const forward = make();
  forward.graph.output("loss", forward.loss);
  const before = new Set(forward.graph.toModel().nodes.map(({ name }) => name));
  const differentiable = make();
  const model = backwardModel(differentiable);
  const floats = new Set(
    differentiable.graph.producers.flatMap(({ outputs }) =>
      outputs.flatMap(({ dtype, id }) => (dtype === "float32" ? [`%${id}`] : [])),
    ),
  );
  const zero = { name: "zero", dtype: "float32", dims: [], bytes: new Uint8Array(4) } as const;
  return model.nodes
    .filter(({ name, outputs: [output = ""], type }) => {
      const summed = type === "Add" || type === "Sub";
      return summed && !before.has(name) && (floats.has(output) || !output.startsWith("%"));
    })
    .flatMap((node) =>
      [0, 1].map((term) => {
        const dropped = {
          ...node,
          type: "Mul",
          name: "dropped",
          inputs: [node.inputs[term]!, zero.name],
          outputs: ["dropped"],
        };
        const left = { ...node, inputs: node.inputs.with(term, "dropped") };
        const nodes = model.nodes.flatMap((other) => (other === node ? [dropped, left] : [other]));
        return {
          name: `${node.name} without term ${term}`,
          model: { ...model, nodes, constants: [...model.constants, zero] },
        };
      }),
    );
};
