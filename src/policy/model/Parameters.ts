/**
 * The numbers of a model: one contiguous float32 buffer and a view into it per parameter.
 * A version of the weights is therefore one ArrayBuffer of 4 bytes per parameter that can be copied or transferred whole.
 * Invariant: the views tile the buffer in the order of the specs.
 */
import type { Random } from "../../domain/Random.ts";
import { elementCount, type ParameterSpec, parameterCount, VALUE_WEIGHT } from "./Architecture.ts";

export interface Parameters {
  readonly specs: readonly ParameterSpec[];
  /** All numbers, in the order of the specs. */
  readonly flat: Float32Array<ArrayBuffer>;
  /** One view into `flat` per spec. */
  readonly tensors: readonly Float32Array<ArrayBuffer>[];
}

/** Views over a flat buffer (zeros by default). Raises RangeError when its length is not that of the specs. */
export const parametersOf = (
  specs: readonly ParameterSpec[],
  flat: Float32Array<ArrayBuffer> = new Float32Array(parameterCount(specs)),
): Parameters => {
  const total = parameterCount(specs);
  if (flat.length !== total) throw new RangeError(`${flat.length} numbers given for ${total} parameters`);
  let start = 0;
  const tensors = specs.map(({ shape }) => {
    const end = start + elementCount(shape);
    const view = flat.subarray(start, end);
    start = end;
    return view;
  });
  return { specs, flat, tensors };
};

/** A parameter with its view into the flat buffer. */
export interface NamedTensor extends ParameterSpec {
  readonly values: Float32Array<ArrayBuffer>;
}

/** Every parameter, in the order of the specs. */
export const named = ({ specs, tensors }: Parameters): readonly NamedTensor[] =>
  specs.map((spec, index) => ({ ...spec, values: tensors[index]! }));

/** The view of one parameter, or undefined. */
export const tensorOf = (parameters: Parameters, name: string): Float32Array<ArrayBuffer> | undefined =>
  parameters.tensors[parameters.specs.findIndex((spec) => spec.name === name)];

export const copyOf = (parameters: Parameters): Parameters => parametersOf(parameters.specs, parameters.flat.slice());

const isNorm = (name: string): boolean => name.endsWith("norm.weight");

/** Fresh parameters: matrices normal(0, deviation), norm weights 1, biases and the value head 0. */
export const initialise = (specs: readonly ParameterSpec[], random: Random, deviation = 0.02): Parameters => {
  const fresh = parametersOf(specs);
  for (const { name, values } of named(fresh)) {
    if (isNorm(name)) values.fill(1);
    else if (!name.endsWith(".bias") && name !== VALUE_WEIGHT)
      for (let i = 0; i < values.length; i += 1) values[i] = deviation * random.normal();
  }
  return fresh;
};

/**
 * The numbers of `source` placed into fresh parameters of `specs` by name; a parameter that `source` lacks comes from
 * `rest`. This is how a critic starts from an actor's trunk.
 */
export const adopt = (specs: readonly ParameterSpec[], source: Parameters, rest: Parameters): Parameters => {
  const result = parametersOf(specs);
  for (const { name, values } of named(result)) {
    const start = tensorOf(source, name) ?? tensorOf(rest, name);
    if (start === undefined) throw new RangeError(`no parameter "${name}" to start from`);
    values.set(start);
  }
  return result;
};
