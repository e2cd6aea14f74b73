/**
 * Turns a graph into the ONNX model of its named outputs. Unneeded nodes are dropped, aliases resolved, inputs kept.
 * Nodes that no other node reads stand last, in reverse order. The runtime works backwards from the last node, so it makes each
 * gradient early and frees what only that gradient needed.
 */
import {
  type Attributes,
  type DType,
  MICROSOFT,
  type OnnxConstant,
  type OnnxModel,
  type OnnxNode,
  type OnnxValue,
} from "./Onnx.ts";
import type { Shape } from "./Shape.ts";

/** The emitted form of a producer: a node, an input, a constant, or an alias for other values. */
export type Emission<V> =
  | { readonly kind: "node"; readonly domain: string; readonly attributes: Attributes }
  | { readonly kind: "input"; readonly name: string }
  | { readonly kind: "constant"; readonly dims: readonly number[]; readonly bytes: Uint8Array }
  | { readonly kind: "alias"; readonly of: readonly V[] };

interface Value {
  readonly id: number;
  readonly dtype: DType;
  readonly shape: Shape;
}

interface Source<V> {
  readonly type: string;
  readonly inputs: ReadonlyArray<V | undefined>;
  readonly outputs: readonly V[];
  readonly emission: Emission<V>;
}

/** The parts of a graph that a model is made of. */
export interface Emittable<V extends Value> {
  readonly name: string;
  readonly inputs: ReadonlyMap<string, V>;
  readonly outputs: ReadonlyMap<string, V>;
  /** Symbols that have a computed value. */
  readonly boundSymbols: ReadonlyMap<string, V>;
  /** In topological order. */
  readonly producers: readonly Source<V>[];
  readonly producer: (value: V) => Source<V>;
}

const OPSETS = { "": 21, [MICROSOFT]: 1 };

const neededBy = <V extends Value>(graph: Emittable<V>): ReadonlySet<Source<V>> => {
  const needed = new Set<Source<V>>();
  const pending: V[] = [...graph.outputs.values()];
  for (let tensor = pending.pop(); tensor !== undefined; tensor = pending.pop()) {
    const producer = graph.producer(tensor);
    if (needed.has(producer)) continue;
    needed.add(producer);
    const sources = producer.emission.kind === "alias" ? producer.emission.of : producer.inputs;
    for (const source of sources) if (source !== undefined) pending.push(source);
  }
  return needed;
};

const onnxValue = (name: string, { dtype, shape }: Value): OnnxValue => ({ name, dtype, shape });

const onnxValues = (named: ReadonlyMap<string, Value>): readonly OnnxValue[] =>
  [...named].map(([name, value]) => onnxValue(name, value));

/** The types and shapes of inputs, outputs and all that the nodes of `kept` make, under the names that `nameOf` gives. */
const valuesOf = <V extends Value>(
  { boundSymbols, inputs, outputs, producers }: Emittable<V>,
  kept: ReadonlySet<Source<V>>,
  nameOf: (value: V) => string,
): Pick<OnnxModel, "inputs" | "outputs" | "values" | "boundSymbols"> => {
  const nodes = producers.filter((source) => kept.has(source) && source.emission.kind === "node");
  const nodeValues = nodes.flatMap((node) => node.outputs.map((value) => onnxValue(nameOf(value), value)));
  const names = new Set(nodeValues.map(({ name }) => name));
  const results = onnxValues(outputs);
  return {
    inputs: onnxValues(inputs),
    outputs: results,
    values: [...nodeValues, ...results.filter(({ name }) => !names.has(name))],
    boundSymbols: [...boundSymbols].map(([symbol, value]) => ({ symbol, value: nameOf(value) })),
  };
};

/** The nodes with those that no other reads at the end, in the opposite order. */
const leavesLast = (nodes: readonly OnnxNode[]): readonly OnnxNode[] => {
  const read = new Set(nodes.flatMap(({ inputs }) => inputs));
  const isRead = ({ outputs }: OnnxNode): boolean => outputs.some((name) => read.has(name));
  return [...nodes.filter(isRead), ...nodes.filter((node) => !isRead(node)).reverse()];
};

export const modelOf = <V extends Value>(graph: Emittable<V>): OnnxModel => {
  /** The value that an alias stands for. */
  const resolve = (value: V): V => {
    const { emission, outputs } = graph.producer(value);
    const source = emission.kind === "alias" ? emission.of[outputs.indexOf(value)] : undefined;
    return source === undefined ? value : resolve(source);
  };
  const names = new Map<V, string>();
  for (const [name, tensor] of graph.inputs) names.set(tensor, name);
  // a node's result takes the first output name asked for it; other names, and names for inputs and constants, are copies
  const copies: (readonly [V, string])[] = [];
  for (const [name, output] of graph.outputs) {
    const tensor = resolve(output);
    if (graph.producer(tensor).emission.kind === "node" && !names.has(tensor)) names.set(tensor, name);
    else copies.push([tensor, name]);
  }
  const nameOf = (tensor: V | undefined): string => {
    if (tensor === undefined) return "";
    const source = resolve(tensor);
    return names.get(source) ?? `%${source.id}`;
  };

  const needed = neededBy(graph);
  const nodes: OnnxNode[] = [];
  const constants: OnnxConstant[] = [];
  for (const producer of graph.producers) {
    if (!needed.has(producer)) continue;
    const { type, inputs, outputs, emission } = producer;
    const [tensor] = outputs;
    if (tensor === undefined) continue;
    if (emission.kind === "constant") {
      constants.push({ name: nameOf(tensor), dtype: tensor.dtype, dims: emission.dims, bytes: emission.bytes });
    } else if (emission.kind === "node")
      nodes.push({
        type,
        domain: emission.domain,
        name: `${type} ${tensor.id}`,
        inputs: inputs.map(nameOf),
        outputs: outputs.map(nameOf),
        attributes: emission.attributes,
      });
  }
  for (const [tensor, name] of copies)
    nodes.push({
      type: "Identity",
      domain: "",
      name: `output ${name}`,
      inputs: [nameOf(tensor)],
      outputs: [name],
      attributes: {},
    });
  return {
    name: graph.name,
    opsets: OPSETS,
    nodes: leavesLast(nodes),
    constants,
    ...valuesOf(graph, needed, nameOf),
  };
};
