/**
 * Operations on elements with numpy broadcasting; numbers stand for constants of the other operand's type.
 * The gradient of a broadcast operand is summed back to its shape.
 */

import type { Graph, Tensor } from "./Graph.ts";
import { sumTo } from "./Layout.ts";
import { type DType, ELEMENT_TYPE } from "./Onnx.ts";
import { broadcast, ShapeError } from "./Shape.ts";

/** A tensor, or a constant of the other operand's type. */
export type Operand = Tensor | number;

const graphOf = (operation: string, operands: readonly Operand[]): { readonly graph: Graph; readonly dtype: DType } => {
  const tensor = operands.find((operand) => typeof operand !== "number");
  if (tensor === undefined) throw new ShapeError(operation, [], "at least one operand must be a tensor");
  return tensor;
};

const lift = (operation: string, operands: readonly Operand[]): readonly Tensor[] => {
  const { graph, dtype } = graphOf(operation, operands);
  const tensors = operands.map((operand) => (typeof operand === "number" ? graph.constant(operand, dtype) : operand));
  if (tensors.some((tensor) => tensor.dtype !== dtype))
    throw new ShapeError(
      operation,
      tensors.map(({ shape }) => shape),
      `types differ: ${tensors.map((t) => t.dtype).join(", ")}`,
    );
  return tensors;
};

type BinaryVjp = (g: Tensor, a: Tensor, b: Tensor, y: Tensor) => readonly [() => Tensor, () => Tensor];

const binary = (type: string, left: Operand, right: Operand, vjp: BinaryVjp): Tensor => {
  const [a, b] = lift(type, [left, right]) as [Tensor, Tensor];
  const shape = broadcast(type, [a.shape, b.shape]);
  return a.graph.result({
    type,
    inputs: [a, b],
    outputs: [{ dtype: a.dtype, shape }],
    vjp: ([g], [y]) => {
      if (g === undefined || y === undefined) return [];
      const [da, db] = vjp(g, a, b, y);
      return [
        typeof left === "number" ? undefined : sumTo(da(), a.shape),
        typeof right === "number" ? undefined : sumTo(db(), b.shape),
      ];
    },
  });
};

const unary = (type: string, x: Tensor, vjp: (g: Tensor, y: Tensor) => Tensor): Tensor =>
  x.graph.result({
    type,
    inputs: [x],
    outputs: [{ dtype: x.dtype, shape: x.shape }],
    vjp: ([g], [y]) => [g && y && vjp(g, y)],
  });

const compare = (type: string, left: Operand, right: Operand): Tensor => {
  const [a, b] = lift(type, [left, right]) as [Tensor, Tensor];
  return a.graph.result({
    type,
    inputs: [a, b],
    outputs: [{ dtype: "bool", shape: broadcast(type, [a.shape, b.shape]) }],
  });
};

/** a + b. */
export const add = (a: Operand, b: Operand): Tensor => binary("Add", a, b, (g) => [() => g, () => g]);
/** a - b. */
export const sub = (a: Operand, b: Operand): Tensor => binary("Sub", a, b, (g) => [() => g, () => neg(g)]);
/** a b, by elements. */
export const mul = (a: Operand, b: Operand): Tensor =>
  binary("Mul", a, b, (g, a, b) => [() => mul(g, b), () => mul(g, a)]);
/** a / b. */
export const div = (a: Operand, b: Operand): Tensor =>
  binary("Div", a, b, (g, _, b, y) => [() => div(g, b), () => neg(mul(div(g, b), y))]);

/** The smaller of two; at a tie the gradient goes to the first. */
export const minimum = (a: Operand, b: Operand): Tensor =>
  binary("Min", a, b, (g, a, b) => [() => where(lessOrEqual(a, b), g, 0), () => where(lessOrEqual(a, b), 0, g)]);
/** The larger of two; at a tie the gradient goes to the first. */
export const maximum = (a: Operand, b: Operand): Tensor =>
  binary("Max", a, b, (g, a, b) => [() => where(greaterOrEqual(a, b), g, 0), () => where(greaterOrEqual(a, b), 0, g)]);
/** x held within low..high; the gradient passes where x lies within, ends included. */
export const clip = (x: Tensor, low: number, high: number): Tensor => {
  const { graph, dtype, shape } = x;
  return graph.result({
    type: "Clip",
    inputs: [x, graph.constant(low, dtype), graph.constant(high, dtype)],
    outputs: [{ dtype, shape }],
    vjp: ([g]) => [g && where(and(greaterOrEqual(x, low), lessOrEqual(x, high)), g, 0)],
  });
};

/** -x. */
export const neg = (x: Tensor): Tensor => unary("Neg", x, (g) => neg(g));
/** e to the power of x. */
export const exp = (x: Tensor): Tensor => unary("Exp", x, (g, y) => mul(g, y));
/** The natural logarithm of x. */
export const log = (x: Tensor): Tensor => unary("Log", x, (g) => div(g, x));
/** The square root of x. */
export const sqrt = (x: Tensor): Tensor => unary("Sqrt", x, (g, y) => div(mul(g, 0.5), y));
export const reciprocal = (x: Tensor): Tensor => unary("Reciprocal", x, (g, y) => neg(mul(g, mul(y, y))));
export const rsqrt = (x: Tensor): Tensor => reciprocal(sqrt(x));
/** x². */
export const square = (x: Tensor): Tensor => mul(x, x);
/** The absolute value of x; the gradient at 0 is 0. */
export const abs = (x: Tensor): Tensor =>
  unary("Abs", x, (g) =>
    mul(
      g,
      unary("Sign", x, (h) => mul(h, 0)),
    ),
  );
/** 1 / (1 + exp(-x)). */
export const sigmoid = (x: Tensor): Tensor => unary("Sigmoid", x, (g, y) => mul(g, mul(y, sub(1, y))));
/** The hyperbolic tangent of x. */
export const tanh = (x: Tensor): Tensor => unary("Tanh", x, (g, y) => mul(g, sub(1, mul(y, y))));
/** x sigmoid(x) (Elfwing et al. 2018). */
export const silu = (x: Tensor): Tensor => {
  const gate = sigmoid(x);
  const result = mul(x, gate);
  // y' = s + y (1 - s), two products less than by the chain rule
  return x.graph.aliasOf("silu", [x], result, ([g]) => [g && mul(g, add(gate, mul(result, sub(1, gate))))]);
};

/** True where a = b; no gradient passes. */
export const equals = (a: Operand, b: Operand): Tensor => compare("Equal", a, b);
/** True where a < b; no gradient passes. */
export const less = (a: Operand, b: Operand): Tensor => compare("Less", a, b);
export const lessOrEqual = (a: Operand, b: Operand): Tensor => compare("LessOrEqual", a, b);
/** True where a > b; no gradient passes. */
export const greater = (a: Operand, b: Operand): Tensor => compare("Greater", a, b);
export const greaterOrEqual = (a: Operand, b: Operand): Tensor => compare("GreaterOrEqual", a, b);
export const and = (a: Tensor, b: Tensor): Tensor => compare("And", a, b);
export const or = (a: Tensor, b: Tensor): Tensor => compare("Or", a, b);
export const not = (x: Tensor): Tensor =>
  x.graph.result({ type: "Not", inputs: [x], outputs: [{ dtype: "bool", shape: x.shape }] });

/** a where the condition holds, b elsewhere. */
export const where = (condition: Tensor, left: Operand, right: Operand): Tensor => {
  const isConstant = typeof left === "number" && typeof right === "number";
  const first = isConstant ? condition.graph.constant(left) : left;
  const [a, b] = lift("where", [first, right]) as [Tensor, Tensor];
  const shape = broadcast("where", [condition.shape, a.shape, b.shape]);
  return a.graph.result({
    type: "Where",
    inputs: [condition, a, b],
    outputs: [{ dtype: a.dtype, shape }],
    vjp: ([g]) =>
      g && [
        undefined,
        typeof left === "number" ? undefined : sumTo(where(condition, g, 0), a.shape),
        typeof right === "number" ? undefined : sumTo(where(condition, 0, g), b.shape),
      ],
  });
};

/** x as another element type; no gradient passes. */
export const cast = (x: Tensor, dtype: DType): Tensor =>
  x.dtype === dtype
    ? x
    : x.graph.result({
        type: "Cast",
        inputs: [x],
        attributes: { to: { int: ELEMENT_TYPE[dtype] } },
        outputs: [{ dtype, shape: x.shape }],
      });

/** The same value, through which no gradient passes. */
export const stopGradient = (x: Tensor): Tensor => x.graph.aliasOf("stopGradient", [x], x);

/** The value of `value` with the gradient of `through`, in its shape (straight-through, Bengio et al. 2013). */
export const straightThrough = (value: Tensor, through: Tensor): Tensor =>
  value.graph.aliasOf("straightThrough", [through], value, ([g]) => [g]);
