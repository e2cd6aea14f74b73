/** The settings of a generator that promise the same bits for a sequence whatever shares its steps; tests walk them. */
import type { Version } from "../../src/domain/Episode.ts";
import type { OpenOptions } from "../../src/generation/OnnxModel.ts";
import type { DecoderConfig } from "../../src/model/graphs/Architecture.ts";
import { trainedParameters } from "../../src/model/graphs/TrainedParameters.ts";
import { type Base, baseInFormat, baseOf } from "../../src/model/runtime/baseFeeds.ts";
import { hasExactInt8 } from "../../src/model/runtime/exactInt8.ts";
import { fullPayload, type Payload } from "../../src/model/weights/Weights.ts";
import { shared } from "../learner/adapted.ts";
import { randomWeights } from "../model/tiny.ts";
import { tiny, weightsOf } from "./support.ts";

/** A decoder with its weights in one form. */
interface WeightForm {
  readonly name: string;
  readonly config: DecoderConfig;
  readonly format?: "float32" | "int8";
  readonly base?: () => Base;
  readonly payload: (version: Version) => Payload;
}

const adapted: DecoderConfig = { ...tiny, adapter: { rank: 3, alpha: 6, targets: ["q_proj", "o_proj", "up_proj"] } };
const separate: DecoderConfig = { ...tiny, heads: 4, kvHeads: 4, tieEmbedding: false };
const oneKeyValueHead: DecoderConfig = { ...tiny, kvHeads: 1 };
const base = () => baseOf(adapted, shared(weightsOf(0)))!;

const adapterOf = (version: Version): Payload => {
  const { flat } = randomWeights(trainedParameters(adapted), 30 + version);
  return { _tag: "adapter", buffer: flat.buffer };
};

const forms: readonly WeightForm[] = [
  { name: "float32", config: tiny, payload: (version) => fullPayload(weightsOf(version).flat) },
  {
    name: "a kv head to each head, an output matrix",
    config: separate,
    payload: (version) => fullPayload(randomWeights(trainedParameters(separate), 7 + version).flat),
  },
  {
    name: "one kv head",
    config: oneKeyValueHead,
    payload: (version) => fullPayload(randomWeights(trainedParameters(oneKeyValueHead), 17 + version).flat),
  },
  { name: "an adapter", config: adapted, base, payload: adapterOf },
  {
    name: "int8, one kv head",
    config: oneKeyValueHead,
    format: "int8",
    payload: (version) => fullPayload(randomWeights(trainedParameters(oneKeyValueHead), 17 + version).flat),
  },
  { name: "int8", config: tiny, format: "int8", payload: (version) => fullPayload(weightsOf(version).flat) },
  {
    name: "int8 with an adapter",
    config: adapted,
    format: "int8",
    base: () => baseInFormat("int8", adapted, base()),
    payload: adapterOf,
  },
];

/** Ways to compute, each with its name. */
export const computations = [
  { label: "", intraOpThreads: 1, prepacks: false },
  { label: ", two intra-op threads", intraOpThreads: 2, prepacks: false },
  { label: ", prepacked", intraOpThreads: 1, prepacks: true },
  { label: ", prepacked, two intra-op threads", intraOpThreads: 2, prepacks: true },
] as const;

export interface GeneratorSetting {
  readonly name: string;
  readonly config: DecoderConfig;
  readonly options: () => OpenOptions;
  readonly payload: (version: Version) => Payload;
}

const isExact = await hasExactInt8();

/** Every form of weights in every way to compute. Forms that this CPU cannot compute are left out. */
export const settings: readonly GeneratorSetting[] = forms
  .filter(({ format }) => format !== "int8" || isExact)
  .flatMap(({ base: baseOfForm, config, format = "float32", name, payload }) =>
    computations.map(({ intraOpThreads, label, prepacks }) => ({
      name: `${name}${label}`,
      config,
      options: () => ({ base: baseOfForm?.(), format, intraOpThreads, prepacks }),
      payload,
    })),
  );
