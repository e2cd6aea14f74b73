/** The JSON bodies of a Tinker server with tensors: passes and samples. Answers are untrusted, and checked whole. */
import { Option, Result, Schema } from "effect";
import type { Datum, PassOutput, PassRequest } from "./Data.ts";
import type { SampleOutput } from "./Sample.ts";

const chunks = (tokens: Int32Array) => ({ chunks: [{ type: "encoded_text", tokens: Array.from(tokens) }] });

const tensor = (values: Int32Array | Float32Array) => ({
  data: Array.from(values),
  dtype: values instanceof Int32Array ? "int64" : "float32",
  shape: [values.length],
});

const datum = ({ tensors, tokens }: Datum) => ({
  model_input: chunks(tokens),
  loss_fn_inputs: Object.fromEntries(Object.entries(tensors).map(([name, values]) => [name, tensor(values)])),
});

export const prompt = chunks;

/** Body of `forward` or `forward_backward`. */
export const passBody = ({ config, data, forwardOnly, loss, modelId, sequence }: PassRequest) => ({
  model_id: modelId,
  seq_id: sequence,
  [forwardOnly ? "forward_input" : "forward_backward_input"]: {
    data: data.map(datum),
    loss_fn: loss,
    loss_fn_config: config ?? null,
  },
});

/** Servers send null for a number that is not finite. */
const Numbers = Schema.Array(Schema.NullOr(Schema.Number));

const Pass = Schema.Struct({
  loss_fn_outputs: Schema.Array(
    Schema.Record(Schema.String, Schema.Struct({ data: Numbers, shape: Schema.optionalKey(Schema.Unknown) })),
  ),
  metrics: Schema.optionalKey(Schema.NullOr(Schema.Record(Schema.String, Schema.Unknown))),
});
const decodePass = Schema.decodeUnknownOption(Pass);

const floats = (values: readonly (number | null)[]): Float32Array =>
  Float32Array.from(values, (value) => value ?? Number.NaN);

export const metricsIn = (metrics: Readonly<Record<string, unknown>> | null | undefined): ReadonlyMap<string, number> =>
  new Map(
    Object.entries(metrics ?? {}).flatMap(([name, value]) =>
      typeof value === "number" && Number.isFinite(value) ? [[name, value] as const] : [],
    ),
  );

export const readPass = (value: unknown): Result.Result<PassOutput, string> => {
  const decoded = decodePass(value);
  if (Option.isNone(decoded)) return Result.fail("the result of a pass has no loss_fn_outputs");
  const { loss_fn_outputs: outputs, metrics } = decoded.value;
  const names = [...new Set(outputs.flatMap((output) => Object.keys(output)))];
  const fields = names.map((name) => [name, outputs.map((output) => floats(output[name]?.data ?? []))] as const);
  return Result.succeed({ fields: new Map(fields), metrics: metricsIn(metrics) });
};

const Sample = Schema.Struct({
  sequences: Schema.Array(
    Schema.Struct({
      stop_reason: Schema.Literals(["stop", "length"]),
      tokens: Schema.Array(Schema.Int),
      logprobs: Schema.optionalKey(Schema.NullOr(Numbers)),
    }),
  ),
  prompt_logprobs: Schema.optionalKey(Schema.NullOr(Numbers)),
});
const decodeSample = Schema.decodeUnknownOption(Sample);

export const readSample = (value: unknown): Result.Result<SampleOutput, string> => {
  const decoded = decodeSample(value);
  if (Option.isNone(decoded)) return Result.fail("the result is no sample");
  const { prompt_logprobs, sequences } = decoded.value;
  return Result.succeed({
    sequences: sequences.map(({ logprobs, stop_reason, tokens }) => ({
      finish: stop_reason,
      tokens: Int32Array.from(tokens),
      logprobs: logprobs === undefined || logprobs === null ? null : floats(logprobs),
    })),
    promptLogprobs: prompt_logprobs === undefined || prompt_logprobs === null ? null : floats(prompt_logprobs),
  });
};
