/**
 * Reverse-mode differentiation: the gradients of a scalar loss by given tensors, as tensors of the same graph. It starts from the loss, or
 * from gradients that are known already. Only nodes between the two ends are visited.
 */
import { add } from "./Elementwise.ts";
import type { Producer, Tensor } from "./Graph.ts";
import { addScattered } from "./Indexing.ts";
import { equal, ShapeError } from "./Shape.ts";

const zerosLike = ({ graph, shape, dtype }: Tensor): Tensor =>
  shape.length === 0
    ? graph.constant(0, dtype)
    : graph.result({
        type: "Expand",
        inputs: [graph.constant(0, dtype), graph.sizes(shape)],
        outputs: [{ dtype, shape }],
      });

/** The sum of two gradients of one tensor; rows that one of them scatters go straight into the other. */
const addGradients = (a: Tensor, b: Tensor): Tensor => addScattered(a, b) ?? addScattered(b, a) ?? add(a, b);

/** A gradient known from elsewhere: d loss / d `of`, in its shape. */
export interface Seed {
  readonly tensor: Tensor;
  readonly gradient: Tensor;
}

/** The gradients that the seeds start with; those of one tensor add up. */
const initialCotangents = (seeds: readonly Seed[]): Map<Tensor, Tensor> => {
  const cotangents = new Map<Tensor, Tensor>();
  for (const { tensor: root, gradient } of seeds) {
    if (root.dtype !== "float32" || gradient.dtype !== "float32" || !equal(root.shape, gradient.shape))
      throw new ShapeError("seed", [root.shape, gradient.shape], "a seed is float32 and has the shape of its tensor");
    const sofar = cotangents.get(root);
    cotangents.set(root, sofar === undefined ? gradient : add(sofar, gradient));
  }
  return cotangents;
};

/**
 * Returns d loss / d each of `wrt`, in their order and shapes, given only the loss's gradients at the seeds; zeros if no seed depends
 * on one.
 * A seed need not be a scalar, and the loss need not be in the graph. Throws a ShapeError for a seed that does not fit its tensor.
 */
export const backward = (seeds: readonly Seed[], wrt: readonly Tensor[]): readonly Tensor[] => {
  const [first] = seeds;
  if (first === undefined) return wrt.map(zerosLike);
  const { graph } = first.tensor;
  const producers = graph.producers;
  const last = Math.max(...seeds.map(({ tensor: root }) => producers.indexOf(graph.producer(root))));

  const dependent = new Set<Tensor>(wrt);
  const path: Producer[] = [];
  for (const producer of producers.slice(0, last + 1)) {
    if (producer.vjp === undefined) continue;
    if (!producer.inputs.some((input) => input !== undefined && dependent.has(input))) continue;
    for (const output of producer.outputs) dependent.add(output);
    path.push(producer);
  }

  const cotangents = initialCotangents(seeds);
  for (const producer of path.reverse()) {
    const incoming = producer.outputs.map((output) => cotangents.get(output));
    if (incoming.every((gradient) => gradient === undefined)) continue;
    const wantsGradient = producer.inputs.map((input) => input !== undefined && dependent.has(input));
    const outgoing = producer.vjp?.(incoming, producer.outputs, wantsGradient) ?? [];
    producer.inputs.forEach((input, index) => {
      const gradient = outgoing[index];
      if (input === undefined || gradient === undefined || !dependent.has(input)) return;
      if (!equal(gradient.shape, input.shape))
        throw new ShapeError(`gradient of ${producer.type}`, [input.shape, gradient.shape], "shapes differ");
      const sofar = cotangents.get(input);
      cotangents.set(input, sofar === undefined ? gradient : addGradients(sofar, gradient));
    });
  }
  return wrt.map((tensor) => cotangents.get(tensor) ?? zerosLike(tensor));
};

/**
 * d loss / d each of `wrt`, in their order and shapes; zeros where the loss does not depend on one.
 * Raises ShapeError when the loss is not a float32 scalar.
 */
export const gradients = (loss: Tensor, wrt: readonly Tensor[]): readonly Tensor[] => {
  if (loss.shape.length !== 0 || loss.dtype !== "float32")
    throw new ShapeError("gradients", [loss.shape], `the loss must be a float32 scalar, not ${loss.dtype}`);
  return backward([{ tensor: loss, gradient: loss.graph.constant(1) }], wrt);
};
