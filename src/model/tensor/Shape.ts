/**
 * Shapes with a static rank and symbolic sizes.
 * A size is a number or a polynomial of symbols in canonical spelling ("batch", "batch*time", "time-1"), so that two
 * sizes are the same exactly when their spellings are. Every shape rule of the tensor language is decided here, at build time.
 */

/** A size: a number, or a polynomial of symbol names. Any spelling is accepted, the canonical one is kept. */
export type Dim = number | string;

/** The sizes of a tensor, one for each axis. */
export type Shape = readonly Dim[];

/** Raised at build time when an operation does not fit the shapes it is given. */
export class ShapeError extends Error {
  override readonly name = "ShapeError";
  readonly operation: string;
  readonly shapes: readonly Shape[];
  constructor(operation: string, shapes: readonly Shape[], reason: string) {
    super(`${operation}(${shapes.map(format).join(", ")}): ${reason}`);
    this.operation = operation;
    this.shapes = shapes;
  }
}

export const format = (shape: Shape): string => `[${shape.join(", ")}]`;

/** Monomial ("batch*time", "" for the constant) to its coefficient, without zeros. */
type Polynomial = ReadonlyMap<string, number>;

const parseCache = new Map<string, Polynomial>();

const monomial = (factors: readonly string[]): string => [...factors].sort().join("*");

const parse = (dim: Dim): Polynomial => {
  if (typeof dim === "number") return dim === 0 ? new Map() : new Map([["", dim]]);
  const cached = parseCache.get(dim);
  if (cached !== undefined) return cached;
  const terms = new Map<string, number>();
  const compact = dim.replaceAll(" ", "");
  const matches = compact.match(/[+-]?[^+-]+/g);
  if (matches === null) throw new ShapeError("dim", [], `"${dim}" is not a size`);
  for (const term of matches) {
    let coefficient = term.startsWith("-") ? -1 : 1;
    const symbols: string[] = [];
    for (const factor of term.replace(/^[+-]/, "").split("*")) {
      if (/^\d+$/.test(factor)) coefficient *= Number(factor);
      else if (/^[A-Za-z_]\w*$/.test(factor)) symbols.push(factor);
      else throw new ShapeError("dim", [], `"${dim}" is not a size`);
    }
    const key = monomial(symbols);
    terms.set(key, (terms.get(key) ?? 0) + coefficient);
  }
  for (const [key, coefficient] of terms) if (coefficient === 0) terms.delete(key);
  parseCache.set(dim, terms);
  return terms;
};

const spell = (polynomial: Polynomial): Dim => {
  const keys = [...polynomial.keys()].filter((key) => polynomial.get(key) !== 0);
  if (keys.length === 0) return 0;
  if (keys.length === 1 && keys[0] === "") return polynomial.get("") ?? 0;
  const degree = (key: string): number => (key === "" ? 0 : key.split("*").length);
  keys.sort((a, b) => degree(b) - degree(a) || (a < b ? -1 : 1));
  const terms = keys.map((key) => {
    const coefficient = polynomial.get(key) ?? 0;
    const size = Math.abs(coefficient);
    return `${coefficient < 0 ? "-" : "+"}${key === "" ? size : size === 1 ? key : `${size}*${key}`}`;
  });
  return terms.join("").replace(/^\+/, "");
};

export const canonical = (dim: Dim): Dim => (typeof dim === "number" ? dim : spell(parse(dim)));

export const isSymbol = (dim: Dim): dim is string => typeof dim === "string" && /^[A-Za-z_]\w*$/.test(dim);

/** The terms of a size, as coefficient and symbol factors. */
export const termsOf = (
  dim: Dim,
): ReadonlyArray<{ readonly coefficient: number; readonly symbols: readonly string[] }> =>
  [...parse(dim)].map(([key, coefficient]) => ({ coefficient, symbols: key === "" ? [] : key.split("*") }));

export const sum = (...dims: readonly Dim[]): Dim => {
  const total = new Map<string, number>();
  for (const dim of dims) for (const [key, value] of parse(dim)) total.set(key, (total.get(key) ?? 0) + value);
  return spell(total);
};

export const product = (...dims: readonly Dim[]): Dim => {
  let total: Polynomial = new Map([["", 1]]);
  for (const dim of dims) {
    const next = new Map<string, number>();
    for (const [left, a] of total)
      for (const [right, b] of parse(dim)) {
        const key = monomial([...left.split("*"), ...right.split("*")].filter((symbol) => symbol !== ""));
        next.set(key, (next.get(key) ?? 0) + a * b);
      }
    total = next;
  }
  return spell(total);
};

export const difference = (a: Dim, b: Dim): Dim => sum(a, product(-1, b));

/** a / b where it is exact and either b or the result is one monomial, else undefined. */
export const quotient = (a: Dim, b: Dim): Dim | undefined => {
  const divisor = [...parse(b)];
  if (divisor.length > 1) {
    const [first] = divisor;
    const factors = [...parse(a)].map((term) => first && quotient(spell(new Map([term])), spell(new Map([first]))));
    return factors.find((factor) => factor !== undefined && product(factor, b) === canonical(a));
  }
  const [divisorKey, divisorCoefficient] = divisor[0] ?? ["", 1];
  const result = new Map<string, number>();
  for (const [key, coefficient] of parse(a)) {
    const symbols = key === "" ? [] : key.split("*");
    for (const symbol of divisorKey === "" ? [] : divisorKey.split("*")) {
      const at = symbols.indexOf(symbol);
      if (at < 0) return undefined;
      symbols.splice(at, 1);
    }
    if (coefficient % divisorCoefficient !== 0) return undefined;
    result.set(monomial(symbols), coefficient / divisorCoefficient);
  }
  return spell(result);
};

export const count = (shape: Shape): Dim => product(...shape);

export const equal = (a: Shape, b: Shape): boolean => a.length === b.length && a.every((dim, axis) => dim === b[axis]);

/** Numpy broadcasting; a size of 1 stretches, anything else must be the same size. */
export const broadcast = (operation: string, shapes: readonly Shape[]): Shape => {
  const rank = Math.max(...shapes.map((shape) => shape.length));
  return Array.from({ length: rank }, (_, axis) => {
    let size: Dim = 1;
    for (const shape of shapes) {
      const dim = shape[axis - rank + shape.length] ?? 1;
      if (dim === 1 || dim === size) continue;
      if (size !== 1) throw new ShapeError(operation, shapes, `sizes ${size} and ${dim} do not broadcast`);
      size = dim;
    }
    return size;
  });
};

/** A possibly negative axis as a position, or a ShapeError. */
export const axisOf = (operation: string, shape: Shape, axis: number): number => {
  const position = axis < 0 ? axis + shape.length : axis;
  if (!Number.isInteger(position) || position < 0 || position >= shape.length)
    throw new ShapeError(operation, [shape], `axis ${axis} is outside rank ${shape.length}`);
  return position;
};

/** The size of an axis that a shape has; a RangeError where it has fewer. */
export const sizeOf = (shape: Shape, axis: number): Dim => {
  const size = shape[axis];
  if (size === undefined) throw new RangeError(`there is no axis ${axis} in ${format(shape)}`);
  return size;
};
