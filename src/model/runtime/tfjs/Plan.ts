/**
 * The plan of a run for given outputs: the needed nodes in order, the sizes that stay on the host, and each value's last reader.
 * Invariant: a value is released once, after its last reader; outputs, inputs and constants are never released.
 */
import type { OnnxConstant, OnnxModel, OnnxNode } from "../../tensor/Onnx.ts";
import { UnsupportedNode } from "./Call.ts";
import { type HostInts, isHostOperator } from "./HostInts.ts";
import { operatorOf } from "./operators/table.ts";

export interface Step {
  readonly node: OnnxNode;
  /** Place of the computation: the device, or the host from input shapes (`shape`) or other sizes (`host`). */
  readonly place: "device" | "host" | "shape";
  /** Values on the device that nothing reads after it. */
  readonly releases: readonly string[];
}

/** The numbers of an integer constant. */
const numbersOf = ({ bytes, dims, dtype }: OnnxConstant): HostInts | undefined => {
  const { buffer, byteLength, byteOffset } = bytes.slice();
  if (dtype === "int64")
    return { values: Array.from(new BigInt64Array(buffer, byteOffset, byteLength / 8), Number), dims };
  if (dtype === "int32") return { values: Array.from(new Int32Array(buffer, byteOffset, byteLength / 4)), dims };
  return undefined;
};

/** Integer constants that are scalars or vectors, which is what sizes and axes are. */
export const hostConstants = ({ constants }: OnnxModel): ReadonlyMap<string, HostInts> =>
  new Map(
    constants.flatMap((constant) => {
      const numbers = constant.dims.length < 2 ? numbersOf(constant) : undefined;
      return numbers === undefined ? [] : [[constant.name, numbers] as const];
    }),
  );

/** Throws `UnsupportedNode` for the first node that the executor has no operator for. */
export const checkOperators = ({ nodes }: OnnxModel): void => {
  for (const node of nodes)
    if (node.type !== "Shape" && operatorOf(node) === undefined)
      throw new UnsupportedNode(node, "there is no such operator");
};

const neededNodes = ({ nodes }: OnnxModel, outputs: readonly string[]): readonly OnnxNode[] => {
  const neededNames = new Set(outputs);
  const needed: OnnxNode[] = [];
  for (const node of nodes.toReversed()) {
    if (!node.outputs.some((name) => neededNames.has(name))) continue;
    needed.push(node);
    for (const name of node.inputs) neededNames.add(name);
  }
  return needed.reverse();
};

/** The steps that give `outputs`. Raises a RangeError for a name that is none of the model's outputs. */
export const planSteps = (model: OnnxModel, outputs: readonly string[]): readonly Step[] => {
  const outputNames = new Set(model.outputs.map(({ name }) => name));
  for (const name of outputs) if (!outputNames.has(name)) throw new RangeError(`the model has no output "${name}"`);
  const nodes = neededNodes(model, outputs);
  const constants = hostConstants(model);
  const onHost = new Set(constants.keys());
  const neverReleased = new Set([...model.inputs, ...model.constants].map(({ name }) => name).concat(outputs));
  const places = nodes.map((node): Step["place"] => {
    if (node.type !== "Shape" && !(isHostOperator(node, constants) && node.inputs.every((name) => onHost.has(name))))
      return "device";
    for (const name of node.outputs) onHost.add(name);
    return node.type === "Shape" ? "shape" : "host";
  });
  const last = new Map<string, number>();
  for (const [i, node] of nodes.entries())
    for (const name of [...node.inputs, ...node.outputs])
      if (name !== "" && !neverReleased.has(name) && !onHost.has(name)) last.set(name, i);
  const released: string[][] = nodes.map(() => []);
  for (const [name, i] of last) released[i]?.push(name);
  return nodes.map((node, i) => ({ node, place: places[i] ?? "device", releases: released[i] ?? [] }));
};
