/**
 * The numbers of a model: one contiguous float32 buffer and a view into it per parameter.
 * A version of the weights is therefore one ArrayBuffer of 4 bytes per parameter that can be copied or transferred whole.
 * Invariant: the views tile the buffer in the order of the specs.
 */
import type { Random } from "../../domain/Random.ts";
import { elementCount, type ParameterSpec, parameterCount, VALUE_WEIGHT } from "./Architecture.ts";

export interface Parameters<B extends ArrayBufferLike = ArrayBuffer> {
  readonly specs: readonly ParameterSpec[];
  /** All numbers, in the order of the specs. */
  readonly flat: Float32Array<B>;
  /** One view into `flat` per spec. */
  readonly tensors: readonly Float32Array<B>[];
}

/** Parameters that nobody changes, or some of them; threads may share their memory. */
export type FrozenParameters = Pick<Parameters<ArrayBufferLike>, "specs" | "tensors">;

/** Views over a flat buffer. Raises RangeError when its length is not that of the specs. */
export const parametersOver = <B extends ArrayBufferLike>(
  specs: readonly ParameterSpec[],
  flat: Float32Array<B>,
): Parameters<B> => {
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

/** Views over a buffer of its own, zeros by default. */
export const parametersOf = (
  specs: readonly ParameterSpec[],
  flat: Float32Array<ArrayBuffer> = new Float32Array(parameterCount(specs)),
): Parameters => parametersOver(specs, flat);

/** A parameter with its view into the flat buffer. */
export interface NamedTensor<B extends ArrayBufferLike = ArrayBuffer> extends ParameterSpec {
  readonly values: Float32Array<B>;
}

/** Every parameter, in the order of the specs. */
export const namedTensors = <B extends ArrayBufferLike>({
  specs,
  tensors,
}: Pick<Parameters<B>, "specs" | "tensors">): readonly NamedTensor<B>[] =>
  specs.map((spec, index) => ({ ...spec, values: tensors[index]! }));

/** The view of one parameter, or undefined. */
export const tensorOf = <B extends ArrayBufferLike>(
  { specs, tensors }: Pick<Parameters<B>, "specs" | "tensors">,
  name: string,
): Float32Array<B> | undefined => tensors[specs.findIndex((spec) => spec.name === name)];

/** Returns views of the wanted frozen parameters. Throws a RangeError if one is missing. */
export const selectFrozen = (frozen: FrozenParameters, selected: readonly ParameterSpec[]): FrozenParameters => ({
  specs: selected,
  tensors: selected.map(({ name }) => {
    const tensor = tensorOf(frozen, name);
    if (tensor === undefined) throw new RangeError(`there is no frozen parameter "${name}"`);
    return tensor;
  }),
});

export const copyOf = (parameters: Parameters<ArrayBufferLike>): Parameters =>
  parametersOf(parameters.specs, parameters.flat.slice());

const isUnshared = (parameters: Parameters<ArrayBufferLike>): parameters is Parameters =>
  parameters.flat.buffer instanceof ArrayBuffer;

/** Parameters that may be changed: the given ones, or a copy where other threads may share their memory. */
export const writableParameters = (parameters: Parameters<ArrayBufferLike>): Parameters =>
  isUnshared(parameters) ? parameters : copyOf(parameters);

/** Zeros in memory that all threads of the process can share. */
export const sharedParameters = (specs: readonly ParameterSpec[]): Parameters<SharedArrayBuffer> =>
  parametersOver(specs, new Float32Array(new SharedArrayBuffer(4 * parameterCount(specs))));

const isNorm = (name: string): boolean => name.endsWith("norm.weight");

/** Fresh parameters: matrices normal(0, deviation), norm weights 1, biases and the value head 0. */
export const initialise = (specs: readonly ParameterSpec[], random: Random, deviation = 0.02): Parameters => {
  const fresh = parametersOf(specs);
  for (const { name, values } of namedTensors(fresh)) {
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
export const initialiseFrom = (
  specs: readonly ParameterSpec[],
  source: Parameters<ArrayBufferLike>,
  rest: Parameters<ArrayBufferLike>,
): Parameters => {
  const result = parametersOf(specs);
  for (const { name, values } of namedTensors(result)) {
    const start = tensorOf(source, name) ?? tensorOf(rest, name);
    if (start === undefined) throw new RangeError(`no parameter "${name}" to start from`);
    values.set(start);
  }
  return result;
};
