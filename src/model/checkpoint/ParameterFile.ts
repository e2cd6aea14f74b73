/**
 * One safetensors file of exactly the parameters a list of specs names: a model's, or a critic's with its value head.
 * Invariant: a file that reads has every named tensor in its shape and no other; the values land in one flat buffer.
 */
import { Effect } from "effect";
import type { ParameterSpec } from "../graphs/Architecture.ts";
import { namedTensors, type Parameters, parametersOf } from "../graphs/Parameters.ts";
import { type CheckpointError, checkpointError } from "./CheckpointError.ts";
import type { FloatFormat } from "./FloatFormat.ts";
import { readInto, type WriteOptions, write } from "./Safetensors.ts";
import { commonFormat, type Header, type Tensor, type TensorEntry } from "./SafetensorsHeader.ts";

export interface ReadOptions {
  /** Tensors that may be in the file and are not read. */
  readonly ignored?: readonly string[];
}

/** "a", "b" and 5 more */
export const nameList = (names: readonly string[]): string => {
  const shown = names.slice(0, 3).map((name) => `"${name}"`);
  return shown.join(", ") + (names.length > 3 ? ` and ${names.length - 3} more` : "");
};

/** Returns how the tensors of `path` differ from `specs`, or undefined. */
export const tensorMismatch = (
  path: string,
  entries: readonly TensorEntry[],
  specs: readonly ParameterSpec[],
  ignored: readonly string[],
): CheckpointError | undefined => {
  const present = new Map(entries.map((entry) => [entry.name, entry]));
  const specNames = new Set(specs.map((spec) => spec.name));
  const missing = specs.filter((spec) => !present.has(spec.name)).map((spec) => spec.name);
  if (missing.length > 0) return checkpointError(path, "missing_tensor", `it lacks ${nameList(missing)}`);
  const unexpected = [...present.keys()].filter((name) => !specNames.has(name) && !ignored.includes(name));
  if (unexpected.length > 0) {
    return checkpointError(
      path,
      "unexpected_tensor",
      `it holds ${nameList(unexpected)}, which this model does not have`,
    );
  }
  for (const { name, shape } of specs) {
    const foundShape = present.get(name)?.shape ?? [];
    if (foundShape.length !== shape.length || foundShape.some((size, axis) => size !== shape[axis])) {
      const detail = `tensor "${name}" has shape [${foundShape.join(", ")}], the config asks for [${shape.join(", ")}]`;
      return checkpointError(path, "wrong_shape", detail);
    }
  }
  return undefined;
};

export interface ParameterFile<B extends ArrayBufferLike = ArrayBuffer> {
  readonly parameters: Parameters<B>;
  /** The number format on disk; in memory it is float32. */
  readonly format: FloatFormat;
}

/** Allocates memory for parameters. */
export type Allocate<B extends ArrayBufferLike> = (specs: readonly ParameterSpec[]) => Parameters<B>;

/**
 * Reads the parameters of `specs` into memory that `allocate` makes. Fails with `CheckpointError`, if possible before any value is
 * read.
 */
export const readParametersInto = <B extends ArrayBufferLike>(
  path: string,
  specs: readonly ParameterSpec[],
  allocate: Allocate<B>,
  { ignored = [] }: ReadOptions = {},
): Effect.Effect<ParameterFile<B>, CheckpointError> =>
  Effect.suspend(() => {
    let parameters: Parameters<B> | undefined;
    const place = (header: Header) => {
      const problem = tensorMismatch(path, header.entries, specs, ignored);
      if (problem !== undefined) return problem;
      // Allocated only now: a wrong config cannot ask for memory the file does not justify.
      const allocated = allocate(specs);
      parameters = allocated;
      const views = new Map(specs.map(({ name }, index) => [name, allocated.tensors[index]]));
      return (entry: TensorEntry) => views.get(entry.name);
    };
    return readInto(path, place).pipe(
      Effect.map((header) => ({
        parameters: parameters ?? allocate(specs),
        format: commonFormat(header.entries),
      })),
    );
  });

/** Reads the parameters of `specs` into memory of their own. Fails with `CheckpointError`. */
export const readParameters = (
  path: string,
  specs: readonly ParameterSpec[],
  options: ReadOptions = {},
): Effect.Effect<ParameterFile, CheckpointError> => readParametersInto(path, specs, parametersOf, options);

/** Writes the parameters under their names, under another name first and renamed. Fails with `CheckpointError`. */
export const writeParameters = (
  path: string,
  parameters: Parameters<ArrayBufferLike>,
  options: WriteOptions = {},
): Effect.Effect<void, CheckpointError> => {
  const tensors = new Map<string, Tensor>(
    namedTensors(parameters).map(({ name, shape, values }) => [name, { shape, data: values }]),
  );
  return write(path, tensors, options);
};
