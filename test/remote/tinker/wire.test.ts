/** Requests against bytes of the official client's own messages, and answers that are malformed. */
import { Result } from "effect";
import { describe, expect, it } from "vitest";
import { datumOf, logprobsOf, type PassOutput } from "../../../src/remote/tinker/wire/Data.ts";
import * as Json from "../../../src/remote/tinker/wire/json.ts";
import * as Protobuf from "../../../src/remote/tinker/wire/protobuf.ts";
import { checkPromptLogprobs, checkSample, type SampleOutput } from "../../../src/remote/tinker/wire/Sample.ts";
import golden from "./golden.json" with { type: "json" };

const ids = Int32Array.of(5, 300, 7, 70_000);
const datum = datumOf(ids, { logprobs: Float32Array.of(-0.5, -1.25, -2), advantages: Float32Array.of(0, 1.5, -3) });
const pass = { modelId: "m-1", sequence: 300, data: [datum], loss: "importance_sampling", forwardOnly: false } as const;
const hex = (bytes: Uint8Array) => Buffer.from(bytes).toString("hex");
const bytes = (text: string) => new Uint8Array(Buffer.from(text, "hex"));

describe("a pass", () => {
  it("has targets that are the next ids", () => {
    expect([...datum.tokens]).toEqual([5, 300, 7]);
    expect([...datum.tensors.target_tokens!]).toEqual([300, 7, 70_000]);
  });

  it("is the official client's message in protobuf", () => {
    expect(hex(Protobuf.passBody(pass))).toBe(golden.request);
    expect(
      hex(Protobuf.passBody({ ...pass, forwardOnly: true, loss: "ppo", config: { clip_low_threshold: 0.75 } })),
    ).toBe(golden.forwardOnly);
  });

  it("is the documented body in JSON", () => {
    expect(Json.passBody(pass)).toEqual({
      model_id: "m-1",
      seq_id: 300,
      forward_backward_input: {
        loss_fn: "importance_sampling",
        loss_fn_config: null,
        data: [
          {
            model_input: { chunks: [{ type: "encoded_text", tokens: [5, 300, 7] }] },
            loss_fn_inputs: {
              target_tokens: { data: [300, 7, 70_000], dtype: "int64", shape: [3] },
              logprobs: { data: [-0.5, -1.25, -2], dtype: "float32", shape: [3] },
              advantages: { data: [0, 1.5, -3], dtype: "float32", shape: [3] },
            },
          },
        ],
      },
    });
  });

  it("is read from both formats alike", () => {
    const value = {
      loss_fn_output_type: "scalar",
      loss_fn_outputs: [
        { logprobs: { data: [-0.5, -1], dtype: "float32", shape: [2] } },
        { logprobs: { data: [-2, -3, -4], dtype: "float32", shape: [3] } },
      ],
      metrics: { "loss:sum": 2.5 },
    };
    const [fromJson, fromProtobuf] = [Json.readPass(value), Protobuf.readPass(bytes(golden.output))];
    expect(Result.isSuccess(fromJson) && Result.isSuccess(fromProtobuf)).toBe(true);
    if (Result.isFailure(fromJson) || Result.isFailure(fromProtobuf)) return;
    expect(fromProtobuf.success).toEqual(fromJson.success);
    expect(fromJson.success.fields.get("logprobs")?.map((each) => [...each])).toEqual([
      [-0.5, -1],
      [-2, -3, -4],
    ]);
  });

  const output = (logprobs: readonly (readonly number[])[]): PassOutput => ({
    fields: new Map([["logprobs", logprobs.map((each) => Float32Array.from(each))]]),
    metrics: new Map(),
  });
  const why = <A>(result: Result.Result<A, string>): string => (Result.isFailure(result) ? result.failure : "fine");

  it.each([
    [output([[-1, -1, -1]]), "fine"],
    [output([[-1, Number.NaN, -1]]), "fine"],
    [output([]), "the result is of 0 sequences, not 1"],
    [output([[-1, -1]]), "logprobs of sequence 0 has 2 values for 3 tokens"],
    [output([[-1, 0.5, -1]]), "0.5 is no log-probability"],
    [{ fields: new Map(), metrics: new Map() }, "the result has no logprobs"],
  ])("is checked: %#", (output, expected) => {
    expect(why(logprobsOf(output, [datum]))).toBe(expected);
  });

  it.each([null, 7, {}, { loss_fn_outputs: [{ logprobs: { data: ["-1"] } }] }])(
    "that is nonsense is none: %j",
    (value) => {
      expect(Result.isFailure(Json.readPass(value))).toBe(true);
    },
  );

  it("that is cut off, or whose offsets lie outside of it, is none", () => {
    const whole = bytes(golden.output);
    expect(Result.isFailure(Protobuf.readPass(whole.subarray(0, whole.length - 9)))).toBe(true);
    expect(Result.isFailure(Protobuf.readPass(bytes(golden.outside)))).toBe(true);
  });
});

describe("a sample", () => {
  it("is read from both formats alike", () => {
    const value = {
      sequences: [{ stop_reason: "length", tokens: [3, 70_000], logprobs: [-0.5, -1.5] }],
      prompt_logprobs: [null, -2],
    };
    const [fromJson, fromProtobuf] = [Json.readSample(value), Protobuf.readSample(bytes(golden.sample))];
    expect(Result.isSuccess(fromJson) && Result.isSuccess(fromProtobuf)).toBe(true);
    if (Result.isFailure(fromJson) || Result.isFailure(fromProtobuf)) return;
    expect(fromProtobuf.success).toEqual(fromJson.success);
  });

  const sampled = (tokens: readonly number[], logprobs: readonly number[] | null): SampleOutput => ({
    sequences: [{ finish: "stop", tokens: Int32Array.from(tokens), logprobs: logprobs && Float32Array.from(logprobs) }],
    promptLogprobs: null,
  });
  it.each([
    [sampled([1, 2], [-1, -1]), null],
    [sampled([1, 2, 3], [-1, -1, -1]), "3 tokens came, 2 were asked for"],
    [sampled([], []), "no token came"],
    [sampled([1, 19], [-1, -1]), "id 19 is outside the vocabulary of 19"],
    [sampled([1, -1], [-1, -1]), "id -1 is outside the vocabulary of 19"],
    [sampled([1, 2], [-1]), "2 tokens have 1 log-probabilities"],
    [sampled([1, 2], null), "2 tokens have 0 log-probabilities"],
    [sampled([1, 2], [-1, Number.NaN]), "NaN is no log-probability"],
    [sampled([1, 2], [-1, 1]), "1 is no log-probability"],
    [{ sequences: [], promptLogprobs: null }, "the result has 0 sequences, not 1"],
  ])("is checked: %#", (output, expected) => {
    const result = checkSample(output, { maxTokens: 2, vocabSize: 19 });
    expect(Result.isFailure(result) ? result.failure : null).toBe(expected);
  });

  it("has log-probabilities of its prompt with or without a first one that is none", () => {
    const check = (values: readonly number[]) =>
      checkPromptLogprobs({ sequences: [], promptLogprobs: Float32Array.from(values) }, ids);
    for (const values of [
      [Number.NaN, -1, -2, -3],
      [-1, -2, -3],
    ]) {
      const result = check(values);
      expect(Result.isSuccess(result) && [...result.success]).toEqual([-1, -2, -3]);
    }
    expect(Result.isFailure(check([-1, -2]))).toBe(true);
    expect(Result.isFailure(check([-1, Number.NaN, -3]))).toBe(true);
  });
});
