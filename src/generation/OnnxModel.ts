/**
 * The language model as onnxruntime sessions of three graphs (Decode.ts). Weights are inputs, so adopting a version only changes views. With
 * `prepacks`, frozen or whole weights are constants of two sessions, which the runtime packs once instead of in every run. Weights in codes
 * always are.
 */
import { cpu, type Device } from "../domain/Device.ts";
import type { Version } from "../domain/Episode.ts";
import type { DecoderConfig } from "../model/graphs/Architecture.ts";
import {
  extendModel,
  newKeys,
  newValues,
  pastKeys,
  pastValues,
  prefillModel,
  stepModel,
} from "../model/graphs/Decode.ts";
import {
  type CodedSpec,
  codedSpecs,
  codesOf,
  encodeMatrices,
  type NumberFormat,
  scalesOf,
  uncodedParameters,
} from "../model/graphs/NumberFormat.ts";
import type { Parameters } from "../model/graphs/Parameters.ts";
import { type Base, baseFeeds, codedFeeds, readableBase, viewFeeds } from "../model/runtime/baseFeeds.ts";
import { hasExactInt8, INEXACT_INT8 } from "../model/runtime/exactInt8.ts";
import {
  type Feeds,
  float32,
  type HostTensor,
  int64,
  type Outputs,
  type Session,
  type SessionOptions,
} from "../model/runtime/Session.ts";
import type { OnnxModel } from "../model/tensor/Onnx.ts";
import { payloadKind, payloadReader } from "../model/weights/payloads.ts";
import { type CacheView, toBucket } from "./KeyValueCache.ts";
import type { LanguageModel, ModelOutputs, NewTokens } from "./LanguageModel.ts";
import { validTokens } from "./Packing.ts";
import { type Prepacking, WeightSessions } from "./WeightSessions.ts";

/** Parameters of one version as graph inputs, with the base's if they are an adapter. */
export interface OnnxWeights {
  readonly version: Version;
  /** Prepacked weights of a version are dropped from here once its sessions hold them. */
  feeds: Feeds;
}

/** Maps a cache to the graphs' inputs and outputs, which have names per layer. */
const cacheTensors = ({ headDim, kvHeads, layers }: DecoderConfig) => {
  const names = Array.from({ length: layers }, (_, layer) => ({
    pastKeys: pastKeys(layer),
    pastValues: pastValues(layer),
    newKeys: newKeys(layer),
    newValues: newValues(layer),
  }));
  return {
    inputs: (past: CacheView, positions: readonly number[], pastLengths: BigInt64Array): Feeds => {
      const dims = [past.rows, kvHeads, ...positions, headDim];
      const feeds: Record<string, HostTensor> = { pastLengths: int64(pastLengths, [pastLengths.length]) };
      for (const [layer, name] of names.entries()) {
        feeds[name.pastKeys] = float32(past.keys[layer]!, dims);
        feeds[name.pastValues] = float32(past.values[layer]!, dims);
      }
      return feeds;
    },
    outputs: (outputs: Outputs): ModelOutputs => ({
      logits: outputs.float32("logits"),
      keys: names.map((name) => outputs.float32(name.newKeys)),
      values: names.map((name) => outputs.float32(name.newValues)),
    }),
  };
};

/**
 * Returns tensors for the outputs of a step of so many rows. The runtime writes them in place, which saves allocating and copying the logits
 * of every step.
 */
const stepOutputs = ({ headDim, kvHeads, layers, vocabSize }: DecoderConfig) => {
  const names = Array.from({ length: layers }, (_, layer) => [newKeys(layer), newValues(layer)]).flat();
  const buffers = new Map<string, Float32Array>();
  let tensors: Readonly<Record<string, HostTensor>> = {};
  let rows = 0;
  const tensor = (name: string, shape: readonly number[]): HostTensor => {
    const size = shape.reduce((product, length) => product * length, 1);
    const old = buffers.get(name);
    const buffer = old !== undefined && old.length >= size ? old : new Float32Array(size);
    buffers.set(name, buffer);
    return float32(buffer.subarray(0, size), shape);
  };
  return (count: number): Readonly<Record<string, HostTensor>> => {
    if (count === rows) return tensors;
    rows = count;
    tensors = Object.fromEntries([
      ["logits", tensor("logits", [rows, vocabSize])],
      ...names.map((name) => [name, tensor(name, [rows, kvHeads, 1, 1, headDim])]),
    ]);
    return tensors;
  };
};

const withoutNames = (feeds: Feeds, isLeftOut: (name: string) => boolean): Feeds =>
  Object.fromEntries(Object.entries(feeds).filter(([name]) => !isLeftOut(name)));

const tokenFeeds = ({ ids, lengths, time }: NewTokens): Feeds => ({
  ids: int64(ids, [lengths.length, time]),
  lengths: int64(lengths, [lengths.length]),
});

const placeFeeds = ({ lengths, time }: NewTokens): Feeds => {
  const { ranks, valid } = validTokens(lengths, time);
  return { valid: int64(valid, [valid.length]), ranks: int64(ranks, [lengths.length, time]) };
};

/** Returns a whole version's inputs. If matrices are coded, the rest is copied so that the version's buffer can be freed. */
const wholeFeeds = (coded: readonly CodedSpec[], parameters: Parameters): Feeds => {
  if (coded.length === 0) return viewFeeds(parameters);
  const { specs, tensors } = uncodedParameters(coded, parameters);
  return {
    ...viewFeeds({ specs, tensors: tensors.map((tensor) => tensor.slice()) }),
    ...codedFeeds(encodeMatrices(coded, parameters)),
  };
};

/** The cache of rows without cached tokens, and their lengths. All layers share its zeros. */
const emptyPast = (
  { headDim, kvHeads, layers }: DecoderConfig,
  { lengths, time }: NewTokens,
): [past: CacheView, pastLengths: BigInt64Array] => {
  const rows = lengths.length;
  const capacity = toBucket(time);
  const zeros = new Array<Float32Array>(layers).fill(new Float32Array(rows * kvHeads * capacity * headDim));
  return [{ rows, capacity, keys: zeros, values: zeros }, new BigInt64Array(rows)];
};

export interface OpenOptions {
  /** Default CPU. */
  readonly device?: Device;
  /** Frozen weights under an adapter, in the same format (`baseInFormat`). */
  readonly base?: Base | undefined;
  /** Default float32. */
  readonly format?: NumberFormat;
  /** Intra-op threads of each session. Default 1. */
  readonly intraOpThreads?: number;
  /** True prepacks weights: the frozen ones beside an adapter, or else those of each version. Default false. Weights in codes always are. */
  readonly prepacks?: boolean;
}

/** Returns a function that makes a version's inputs of a payload, together with the base. */
const weightsOver = (
  config: DecoderConfig,
  frozen: Feeds | undefined,
  format: NumberFormat,
): LanguageModel<OnnxWeights>["weights"] => {
  const read = payloadReader(config);
  const coded = frozen === undefined ? codedSpecs(format, config) : [];
  return (version, payload) => ({ version, feeds: { ...frozen, ...wholeFeeds(coded, read(version, payload)) } });
};

/** Opens the sessions of the graphs. With prepacked weights, prompts are fed to empty caches: a third session would hold the weights once more. */
const openSessions = async (
  config: DecoderConfig,
  format: NumberFormat,
  prepacking: Prepacking,
  options: SessionOptions,
) => {
  const sessionsOf = (model: OnnxModel) => WeightSessions.open<OnnxWeights>(model, prepacking, options);
  return {
    prefills: prepacking.isPrepacked ? undefined : await sessionsOf(prefillModel(config, format)),
    extensions: await sessionsOf(extendModel(config, format)),
    steps: await sessionsOf(stepModel(config, format)),
  };
};

/** Awaits a session that opens. Once all sessions of a version are open, its own copy of prepacked weights is dropped. */
const opened = async (
  opening: Promise<Session>,
  weights: OnnxWeights,
  all: readonly WeightSessions<OnnxWeights>[],
  isPrepacked: Prepacking["isPrepacked"],
): Promise<Session> => {
  const session = await opening;
  if (isPrepacked !== undefined && all.every((sessions) => sessions.holds(weights)))
    weights.feeds = withoutNames(weights.feeds, isPrepacked);
  return session;
};

/** Opens the sessions. Rejects if the runtime refuses a graph, or if the CPU's products of 8-bit numbers are not exact. */
export const open = async (config: DecoderConfig, options: OpenOptions = {}): Promise<LanguageModel<OnnxWeights>> => {
  const { device = cpu, format = "float32", intraOpThreads: threads = 1, prepacks = false } = options;
  const { headDim, kvHeads, layers, maxPositions, vocabSize } = config;
  if (format === "int8" && !(await hasExactInt8())) throw new Error(INEXACT_INT8);
  const frozen = options.base && baseFeeds(await readableBase(options.base));
  const cache = cacheTensors(config);
  const codes = new Set(codedSpecs(format, config).flatMap(({ name }) => [codesOf(name), scalesOf(name)]));
  const inCodes = codes.size === 0 ? undefined : (name: string) => codes.has(name);
  const isPrepacked = inCodes ?? (prepacks ? () => true : undefined);
  const { extensions, prefills, steps } = await openSessions(
    config,
    format,
    { frozen, isPrepacked },
    { device, threads },
  );
  const outputsOf = stepOutputs(config);
  const run = async (
    sessions: WeightSessions<OnnxWeights>,
    weights: OnnxWeights,
    feeds: Feeds,
    outputs?: Readonly<Record<string, HostTensor>>,
  ) => {
    const current = sessions.session(weights);
    const session =
      current instanceof Promise ? await opened(current, weights, [extensions, steps], isPrepacked) : current;
    return cache.outputs(await session.run({ ...weights.feeds, ...feeds }, outputs));
  };
  const extend = (weights: OnnxWeights, tokens: NewTokens, past: CacheView, pastLengths: BigInt64Array) => {
    const feeds = { ...tokenFeeds(tokens), ...placeFeeds(tokens), ...cache.inputs(past, [past.capacity], pastLengths) };
    return run(extensions, weights, feeds);
  };
  return {
    shape: { layers, kvHeads, headDim, vocabSize, maxPositions },
    // The runtime computes a single row of a product otherwise, unless the matrix is prepacked. An adapter's matrices are inputs, and the
    // groups of an only kv head are rows of one product if there is one sequence.
    leastStepRows: isPrepacked && frozen === undefined && kvHeads > 1 ? 1 : 2,
    versions: { payloadKinds: [payloadKind(config)], canPin: true },
    weights: weightsOver(config, frozen, format),
    forget: (weights) => {
      void extensions.forget(weights);
      void steps.forget(weights);
    },
    prefill: (weights, tokens) =>
      prefills === undefined
        ? extend(weights, tokens, ...emptyPast(config, tokens))
        : run(prefills, weights, tokenFeeds(tokens)),
    extend,
    step: (weights, ids, past, pastLengths) => {
      const feeds = { ids: int64(ids, [ids.length]), ...cache.inputs(past, [1, past.capacity], pastLengths) };
      return run(steps, weights, feeds, outputsOf(ids.length));
    },
    close: async () => {
      await prefills?.close();
      await extensions.close();
      await steps.close();
    },
  };
};
