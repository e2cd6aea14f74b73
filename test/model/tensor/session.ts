/** Runs models in onnxruntime for tests: plain arrays in, float32 arrays out, one thread by default. */
import { InferenceSession, Tensor } from "onnxruntime-node";
import { type DType, encode, type OnnxModel } from "../../../src/model/tensor/Onnx.ts";

export interface Value {
  readonly dtype: DType;
  readonly dims: readonly number[];
  readonly data: ArrayLike<number>;
}
export type Feeds = Readonly<Record<string, Value>>;
export type Results = Readonly<Record<string, Float32Array>>;

export const float32 = (dims: readonly number[], data: ArrayLike<number>): Value => ({ dtype: "float32", dims, data });
export const int64 = (dims: readonly number[], data: ArrayLike<number>): Value => ({ dtype: "int64", dims, data });
export const scalar = (value: number): Value => float32([], [value]);

const toTensor = ({ dtype, dims, data }: Value): Tensor => {
  switch (dtype) {
    case "float32":
      return new Tensor("float32", data instanceof Float32Array ? data : Float32Array.from(data), dims);
    case "int32":
      return new Tensor("int32", Int32Array.from(data), dims);
    case "int64":
      return new Tensor("int64", BigInt64Array.from(Array.from(data), BigInt), dims);
    case "uint8":
      return new Tensor("uint8", Uint8Array.from(data), dims);
    case "bool":
      return new Tensor("bool", Uint8Array.from(data), dims);
  }
};

export interface Model {
  readonly run: (feeds: Feeds) => Promise<Results>;
  readonly release: () => Promise<void>;
}

export const load = async (described: OnnxModel, threads = 1): Promise<Model> => {
  const session = await InferenceSession.create(encode(described), {
    intraOpNumThreads: threads,
    interOpNumThreads: 1,
    graphOptimizationLevel: "all",
    logSeverityLevel: 3,
    extra: { session: { intra_op: { allow_spinning: "0" } } },
  });
  return {
    run: async (feeds) => {
      const results = await session.run(
        Object.fromEntries(Object.entries(feeds).map(([name, value]) => [name, toTensor(value)])),
      );
      return Object.fromEntries(
        Object.entries(results).map(([name, tensor]) => [
          name,
          Float32Array.from(tensor.data as ArrayLike<number>, Number),
        ]),
      );
    },
    release: () => session.release(),
  };
};

/** Loads, runs once, releases. */
export const runOnce = async (described: OnnxModel, feeds: Feeds): Promise<Results> => {
  const model = await load(described);
  try {
    return await model.run(feeds);
  } finally {
    await model.release();
  }
};
