/** Operators on elements, with numpy broadcasting as tfjs has it. Integers are int32; booleans stay booleans. */
import { type Call, intOf, type Operator, UnsupportedNode } from "../Call.ts";
import type { Tensor, Tf } from "../peer.ts";
import { broadcastShape } from "./layout.ts";

const unary =
  (operate: (tf: Tf, x: Tensor) => Tensor): Operator =>
  ({ input, tf }) =>
    operate(tf, input(0));

const binary =
  (operate: (tf: Tf, a: Tensor, b: Tensor) => Tensor): Operator =>
  ({ input, tf }) =>
    operate(tf, input(0), input(1));

/** The smaller or larger of two; tfjs does not sum the gradient of an operand that it repeated, so here it is repeated before. */
const extreme =
  (operate: (tf: Tf, a: Tensor, b: Tensor) => Tensor): Operator =>
  ({ differentiable, input, tf }) => {
    const [a, b] = [input(0), input(1)];
    if (!differentiable) return operate(tf, a, b);
    const shape = broadcastShape(a.shape, b.shape);
    return operate(tf, tf.broadcastTo(a, shape), tf.broadcastTo(b, shape));
  };

/** Comparisons pass no gradient; to tfjs, that of most is unknown, so its tape does not see what they read. */
const comparison =
  (operate: (tf: Tf, a: Tensor, b: Tensor) => Tensor): Operator =>
  ({ differentiable, input, tf }) => {
    const read = (x: Tensor): Tensor => (differentiable ? tf.tensor(x.dataSync().slice(), x.shape, x.dtype) : x);
    return operate(tf, read(input(0)), read(input(1)));
  };

/** tfjs divides integers down, ONNX towards zero. */
const divide: Operator = ({ input, tf }) => {
  const [a, b] = [input(0), input(1)];
  if (a.dtype !== "int32") return tf.div(a, b);
  return tf.mul(tf.mul(tf.sign(a), tf.sign(b)), tf.floorDiv(tf.abs(a), tf.abs(b)));
};

const clip: Operator = ({ has, input, tf }) => {
  const raised = has(1) ? tf.maximum(input(0), input(1)) : input(0);
  return has(2) ? tf.minimum(raised, input(2)) : tf.clone(raised);
};

const types = new Map<number, "float32" | "int32" | "bool">([
  [1, "float32"],
  [6, "int32"],
  [7, "int32"],
  [9, "bool"],
]);

const cast = ({ input, node, tf }: Call): Tensor => {
  const type = types.get(intOf(node, "to", 0));
  if (type === undefined) throw new UnsupportedNode(node, `no element type ${intOf(node, "to", 0)}`);
  return tf.cast(input(0), type);
};

export const elementwise: Readonly<Record<string, Operator>> = {
  Add: binary((tf, a, b) => tf.add(a, b)),
  Sub: binary((tf, a, b) => tf.sub(a, b)),
  Mul: binary((tf, a, b) => tf.mul(a, b)),
  Div: divide,
  Min: extreme((tf, a, b) => tf.minimum(a, b)),
  Max: extreme((tf, a, b) => tf.maximum(a, b)),
  Clip: clip,
  Neg: unary((tf, x) => tf.neg(x)),
  Exp: unary((tf, x) => tf.exp(x)),
  Log: unary((tf, x) => tf.log(x)),
  Sqrt: unary((tf, x) => tf.sqrt(x)),
  Reciprocal: unary((tf, x) => tf.reciprocal(x)),
  Abs: unary((tf, x) => tf.abs(x)),
  Sign: unary((tf, x) => tf.sign(x)),
  Sigmoid: unary((tf, x) => tf.sigmoid(x)),
  Tanh: unary((tf, x) => tf.tanh(x)),
  Equal: comparison((tf, a, b) => tf.equal(a, b)),
  Less: comparison((tf, a, b) => tf.less(a, b)),
  LessOrEqual: comparison((tf, a, b) => tf.lessEqual(a, b)),
  Greater: comparison((tf, a, b) => tf.greater(a, b)),
  GreaterOrEqual: comparison((tf, a, b) => tf.greaterEqual(a, b)),
  And: binary((tf, a, b) => tf.logicalAnd(a, b)),
  Or: binary((tf, a, b) => tf.logicalOr(a, b)),
  Not: unary((tf, x) => tf.logicalNot(x)),
  Where: ({ input, tf }) => tf.where(input(0), input(1), input(2)),
  Cast: cast,
  Identity: unary((tf, x) => tf.clone(x)),
};
