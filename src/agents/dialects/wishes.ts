/** Reads a client's wishes for sampling. All dialects name the same fields, but for the limit of tokens and the texts that end a reply. */
import { Result } from "effect";
import { isJsonObject, type JsonObject } from "../../support/json.ts";
import type { SamplingWishes } from "./Dialect.ts";
import { isAbsent, mustBe, type Read, type Reader, readEach, readName, refuse } from "./fields.ts";

type NumberWish = Exclude<keyof SamplingWishes, "neverGranted" | "stop">;

interface NumberField {
  readonly field: string;
  readonly wish: NumberWish;
  readonly isValid: (value: number) => boolean;
  readonly form: string;
}

const limit = { wish: "maxTokens", isValid: (value: number) => Number.isInteger(value) && value >= 1 } as const;

/** A later field overrides an earlier one with the same wish. */
const numberFields: readonly NumberField[] = [
  { field: "temperature", wish: "temperature", isValid: (value) => value >= 0, form: "a number of at least 0" },
  { field: "top_p", wish: "topP", isValid: (value) => value >= 0 && value <= 1, form: "a number from 0 to 1" },
  // Some servers take 0 and -1 for all tokens.
  { field: "top_k", wish: "topK", isValid: (value) => Number.isInteger(value) && value >= -1, form: "a whole number" },
  { field: "seed", wish: "seed", isValid: Number.isInteger, form: "a whole number" },
  { field: "max_tokens", ...limit, form: "a whole number of at least 1" },
  { field: "max_completion_tokens", ...limit, form: "a whole number of at least 1" },
  { field: "max_output_tokens", ...limit, form: "a whole number of at least 1" },
];

const readNumbers = (body: JsonObject): Read<Pick<SamplingWishes, NumberWish>> => {
  const wishes: Partial<Record<NumberWish, number>> = {};
  for (const { field, form, isValid, wish } of numberFields) {
    const value = body[field];
    if (isAbsent(value)) continue;
    if (typeof value !== "number" || !Number.isFinite(value) || !isValid(value)) return mustBe(field, form);
    wishes[wish] = value;
  }
  const { topK, ...others } = wishes;
  return Result.succeed(topK === undefined || topK < 1 ? others : { ...others, topK });
};

/** Most characters of a call's stop texts. A generator finds them with a table of a kilobyte for each byte, and stops for all calls to make it. */
const mostStopCharacters = 1_024;

const readStop: Reader<readonly string[]> = (value, path) => {
  if (isAbsent(value) || value === "") return Result.succeed([]);
  return typeof value === "string" ? Result.succeed([value]) : readEach(value, path, readName);
};

const checkStops = (stop: readonly string[], path: string): Read<readonly string[]> => {
  const characters = stop.reduce((sum, { length }) => sum + length, 0);
  return characters <= mostStopCharacters
    ? Result.succeed(stop)
    : refuse(path, `has ${characters} characters; stop texts have ${mostStopCharacters} at most`);
};

/** True for values that ask for something: 0, false and an empty object do not. */
const isWished = (value: unknown): boolean =>
  value === true ||
  (typeof value === "number" && value !== 0) ||
  (isJsonObject(value) && Object.keys(value).length > 0);

/** Sampling is the run's, replies have the calls that were sampled, and answers have no log-probabilities. */
const neverGrantedBy = (body: JsonObject): readonly string[] => {
  const { tool_choice: choice } = body;
  const isOneCall =
    body.parallel_tool_calls === false || (isJsonObject(choice) && choice.disable_parallel_tool_use === true);
  const hasLogprobs =
    isWished(body.logprobs) ||
    isWished(body.top_logprobs) ||
    (Array.isArray(body.include) && body.include.includes("message.output_text.logprobs"));
  return [
    ...["frequency_penalty", "presence_penalty"]
      .filter((field) => isWished(body[field]))
      .map((field) => `${field} ${String(body[field])}`),
    ...(isWished(body.logit_bias) ? ["logit_bias"] : []),
    ...(isOneCall ? ["one tool call a reply"] : []),
    ...(hasLogprobs ? ["logprobs (answers have none)"] : []),
  ];
};

export const readWishes = (body: JsonObject): Read<SamplingWishes> =>
  Result.gen(function* () {
    const numbers = yield* readNumbers(body);
    const stop = yield* readStop(body.stop, "stop");
    const sequences = yield* readStop(body.stop_sequences, "stop_sequences");
    const path = stop.length > 0 ? "stop" : "stop_sequences";
    const neverGranted = neverGrantedBy(body);
    return {
      ...numbers,
      stop: yield* checkStops([...stop, ...sequences], path),
      ...(neverGranted.length === 0 ? {} : { neverGranted }),
    };
  });
