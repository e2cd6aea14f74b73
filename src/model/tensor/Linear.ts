/**
 * Matrix products: `gemm` on two matrices with a bias, `matmul` on stacks of matrices with a scale.
 * Transposition is a flag, so that no operand is copied for it.
 */
import type { Tensor } from "./Graph.ts";
import { sumTo, transpose } from "./Layout.ts";
import { MICROSOFT } from "./Onnx.ts";
import { broadcast, type Dim, ShapeError } from "./Shape.ts";

export interface GemmOptions {
  readonly transA?: boolean;
  readonly transB?: boolean;
  /** Added to the product, broadcast to its shape. */
  readonly bias?: Tensor | undefined;
}

const rowsAndColumns = (shape: readonly Dim[], transposed: boolean): readonly [Dim, Dim] => {
  const [rows, columns] = shape.slice(-2) as [Dim, Dim];
  return transposed ? [columns, rows] : [rows, columns];
};

/** g' a, or g' a' when flagged. The runtime copies a transposed operand in strips, so the narrower one takes the flag. */
const transposedProduct = (g: Tensor, a: Tensor, transA: boolean): Tensor => {
  const [rows, columns] = [g.shape[1], a.shape[1]];
  return !transA && typeof rows === "number" && typeof columns === "number" && columns < rows
    ? transpose(gemm(a, g, { transA: true }), [1, 0])
    : gemm(g, a, { transA: true, transB: transA });
};

/** a b + bias for matrices, each taken transposed when flagged. */
export const gemm = (a: Tensor, b: Tensor, options: GemmOptions = {}): Tensor => {
  const { transA = false, transB = false, bias } = options;
  const shapes = [a.shape, b.shape, ...(bias ? [bias.shape] : [])];
  if (a.shape.length !== 2 || b.shape.length !== 2) throw new ShapeError("gemm", shapes, "operands must be matrices");
  const [rows, inner] = rowsAndColumns(a.shape, transA);
  const [innerB, columns] = rowsAndColumns(b.shape, transB);
  if (inner !== innerB) throw new ShapeError("gemm", shapes, `inner sizes ${inner} and ${innerB} differ`);
  const shape = [rows, columns];
  if (bias) broadcast("gemm", [shape, bias.shape]);
  return a.graph.result({
    type: "Gemm",
    inputs: bias ? [a, b, bias] : [a, b],
    attributes: { transA: { int: transA ? 1 : 0 }, transB: { int: transB ? 1 : 0 } },
    outputs: [{ dtype: a.dtype, shape }],
    vjp: ([g]) =>
      g && [
        transA ? gemm(b, g, { transA: transB, transB: true }) : gemm(g, b, { transB: !transB }),
        transB ? transposedProduct(g, a, transA) : gemm(a, g, { transA: !transA }),
        bias && sumTo(g, bias.shape),
      ],
  });
};

export interface MatmulOptions {
  readonly transA?: boolean;
  readonly transB?: boolean;
  /** Factor on the product. */
  readonly scale?: number;
}

/** scale a b over the last two axes, leading axes broadcast. */
export const matmul = (a: Tensor, b: Tensor, options: MatmulOptions = {}): Tensor => {
  const { transA = false, transB = false, scale = 1 } = options;
  const shapes = [a.shape, b.shape];
  if (a.shape.length < 2 || b.shape.length < 2)
    throw new ShapeError("matmul", shapes, "operands must have two axes or more");
  const [rows, inner] = rowsAndColumns(a.shape, transA);
  const [innerB, columns] = rowsAndColumns(b.shape, transB);
  if (inner !== innerB) throw new ShapeError("matmul", shapes, `inner sizes ${inner} and ${innerB} differ`);
  const stack = broadcast("matmul", [a.shape.slice(0, -2), b.shape.slice(0, -2)]);
  return a.graph.result({
    type: "FusedMatMul",
    domain: MICROSOFT,
    inputs: [a, b],
    attributes: { transA: { int: transA ? 1 : 0 }, transB: { int: transB ? 1 : 0 }, alpha: { float: scale } },
    outputs: [{ dtype: a.dtype, shape: [...stack, rows, columns] }],
    vjp: ([g]) =>
      g && [
        sumTo(
          transA ? matmul(b, g, { transA: transB, transB: true, scale }) : matmul(g, b, { transB: !transB, scale }),
          a.shape,
        ),
        sumTo(
          transB ? matmul(g, a, { transA: true, transB: transA, scale }) : matmul(a, g, { transA: !transA, scale }),
          b.shape,
        ),
      ],
  });
};
