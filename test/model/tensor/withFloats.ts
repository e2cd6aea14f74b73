/** A model with inputs and outputs in float16 (HalfForm.ts) for host memory, from which the runtime takes none. */
import type { OnnxModel, OnnxNode } from "../../../src/model/tensor/Onnx.ts";

const castTo = (to: number, from: string, into: string): OnnxNode => ({
  type: "Cast",
  domain: "",
  name: `test ${into}`,
  inputs: [from],
  outputs: [into],
  attributes: { to: { int: to } },
});

/** The same model with float32 in and out. */
export const withFloats = ({ half = new Set(), ...model }: OnnxModel): OnnxModel => {
  const inside = (name: string): string => (half.has(name) ? `${name} in half` : name);
  const body = model.nodes.map((node) => ({
    ...node,
    inputs: node.inputs.map(inside),
    outputs: node.outputs.map(inside),
  }));
  const named = (values: OnnxModel["inputs"]) => values.map(({ name }) => name).filter((name) => half.has(name));
  const before = named(model.inputs).map((name) => castTo(10, name, inside(name)));
  const after = named(model.outputs).map((name) => castTo(1, inside(name), name));
  return { ...model, nodes: [...before, ...body, ...after] };
};
