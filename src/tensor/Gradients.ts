/**
 * Reverse-mode differentiation: the gradients of a scalar loss by given tensors, as tensors of the same graph. Only nodes between
 * the two are visited.
 */
import { add } from "./Elementwise.ts";
import type { Producer, Tensor } from "./Graph.ts";
import { equal, ShapeError } from "./Shape.ts";

const zerosLike = ({ graph, shape, dtype }: Tensor): Tensor =>
  shape.length === 0
    ? graph.constant(0, dtype)
    : graph.result({
        type: "Expand",
        inputs: [graph.constant(0, dtype), graph.sizes(shape)],
        outputs: [{ dtype, shape }],
      });

/**
 * d loss / d each of `wrt`, in their order and shapes; zeros where the loss does not depend on one.
 * Raises ShapeError when the loss is not a float32 scalar.
 */
export const gradients = (loss: Tensor, wrt: readonly Tensor[]): readonly Tensor[] => {
  if (loss.shape.length !== 0 || loss.dtype !== "float32")
    throw new ShapeError("gradients", [loss.shape], `the loss must be a float32 scalar, not ${loss.dtype}`);
  const { graph } = loss;
  const producers = graph.producers;
  const last = producers.indexOf(graph.producer(loss));

  const dependent = new Set<Tensor>(wrt);
  const path: Producer[] = [];
  for (const producer of producers.slice(0, last + 1)) {
    if (producer.vjp === undefined) continue;
    if (!producer.inputs.some((input) => input !== undefined && dependent.has(input))) continue;
    for (const output of producer.outputs) dependent.add(output);
    path.push(producer);
  }

  const cotangents = new Map<Tensor, Tensor>([[loss, graph.constant(1)]]);
  for (const producer of path.reverse()) {
    const incoming = producer.outputs.map((output) => cotangents.get(output));
    if (incoming.every((gradient) => gradient === undefined)) continue;
    const outgoing = producer.vjp?.(incoming, producer.outputs) ?? [];
    producer.inputs.forEach((input, index) => {
      const gradient = outgoing[index];
      if (input === undefined || gradient === undefined || !dependent.has(input)) return;
      if (!equal(gradient.shape, input.shape))
        throw new ShapeError(`gradient of ${producer.type}`, [input.shape, gradient.shape], "shapes differ");
      const sofar = cotangents.get(input);
      cotangents.set(input, sofar === undefined ? gradient : add(sofar, gradient));
    });
  }
  return wrt.map((tensor) => cotangents.get(tensor) ?? zerosLike(tensor));
};
