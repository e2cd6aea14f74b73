/**
 * The order in which onnxruntime runs a model's nodes: depth first from the nodes that no other reads, the last of them first.
 * The input of a node that stands last in the model comes first. Invariant: a node follows everything it reads.
 */
import type { OnnxModel, OnnxNode } from "./Onnx.ts";

/** Positions in `nodes` of the nodes that each node reads, without repetition, in ascending order. */
const inputNodes = (nodes: readonly OnnxNode[]): readonly (readonly number[])[] => {
  const makers = new Map(nodes.flatMap(({ outputs }, node) => outputs.map((name) => [name, node] as const)));
  return nodes.map(({ inputs }) => {
    const read = inputs.flatMap((name) => makers.get(name) ?? []);
    return [...new Set(read)].sort((a, b) => a - b);
  });
};

/** Positions in `nodes`, in the order in which they run. */
export const executionOrder = ({ nodes }: Pick<OnnxModel, "nodes">): readonly number[] => {
  const reads = inputNodes(nodes);
  const isRead = new Set(reads.flat());
  const visited = new Set<number>();
  const order: number[] = [];
  const pending = nodes.flatMap((_, node) => (isRead.has(node) ? [] : [{ node, done: false }]));
  for (let next = pending.pop(); next !== undefined; next = pending.pop()) {
    const { done, node } = next;
    if (done) order.push(node);
    else if (!visited.has(node)) {
      visited.add(node);
      pending.push({ node, done: true });
      for (const input of reads[node] ?? []) if (!visited.has(input)) pending.push({ node: input, done: false });
    }
  }
  return order;
};
