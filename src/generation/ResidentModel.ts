/**
 * The language model on a device that keeps its tensors. A version's weights are uploaded once, caches stay on the device
 * (ResidentCaches), and a step returns only drawn tokens.
 */
import { cpu, type Device } from "../domain/Device.ts";
import type { Version } from "../domain/Episode.ts";
import type { DecoderConfig, ParameterSpec } from "../model/graphs/Architecture.ts";
import {
  arrangeModel,
  cacheInputNames,
  cacheOutputNames,
  decodeModel,
  feedModel,
  inFloat16,
  isFloat16Parameter,
} from "../model/graphs/DeviceDecode.ts";
import { DRAW_WIDTH } from "../model/graphs/Draw.ts";
import { trainedParameters } from "../model/graphs/TrainedParameters.ts";
import { type Base, viewFeeds } from "../model/runtime/baseFeeds.ts";
import { DeviceBase } from "../model/runtime/DeviceBase.ts";
import { discard, type Feeds, float32, int64, int64Vector, type Outputs, Session } from "../model/runtime/Session.ts";
import { release, type Tensors, Transfer } from "../model/runtime/Transfer.ts";
import type { DeviceFloat } from "../model/runtime/Uploader.ts";
import type { OnnxModel } from "../model/tensor/Onnx.ts";
import { payloadKind, payloadReader } from "../model/weights/payloads.ts";
import type { ResidentModel } from "./LanguageModel.ts";
import { paddedTime } from "./Packing.ts";
import { type DeviceCaches, emptyCaches, FIRST_CAPACITY, ResidentCaches } from "./ResidentCaches.ts";
import { NotFiniteLogits, Sampler } from "./Sampler.ts";
import type { Draw, HistoryOf, SequenceModel, StepResults, Token } from "./SequenceModel.ts";
import type { DecodeStep, PrefillStep, PrefixStep, Sequence, StepPlan } from "./StepPlan.ts";
import { truncates } from "./Truncation.ts";

/** Parameters of one version: in host memory until the first step that needs them, afterwards only on the device. */
export interface ResidentWeights {
  readonly version: Version;
  /** Frozen weights under an adapter, on the device; empty for a whole model. */
  readonly base: Feeds;
  host: Feeds | undefined;
  device: Tensors | undefined;
}

interface Sessions {
  readonly decode: Session;
  readonly feed: Session;
  readonly arrange: Session;
  readonly weights: Transfer;
  readonly logits: Transfer;
  readonly caches: Transfer;
}

/** New tokens for a row of a cache. */
interface RowTokens {
  readonly ids: Int32Array;
  readonly row: number;
  readonly past: number;
}

/** Returns the graphs' inputs for each row's draw. A row without a draw is drawn too, and its token is ignored. */
const drawFeeds = (draws: readonly (Draw | undefined)[]): Feeds => {
  const vector = (number: (draw: Draw | undefined) => number) =>
    float32(Float32Array.from(draws, number), [draws.length]);
  const temperature = (draw: Draw | undefined): number => draw?.sampling.temperature ?? 1;
  return {
    scale: vector((draw) => (temperature(draw) === 0 ? 1 : 1 / temperature(draw))),
    greedy: vector((draw) => (temperature(draw) === 0 ? 1 : 0)),
    uniform: vector((draw) => draw?.uniform ?? 0),
  };
};

/** Returns the number format of each parameter on the device. */
const parameterType = (config: DecoderConfig, type: DeviceFloat): ((spec: ParameterSpec) => DeviceFloat) => {
  const halved = isFloat16Parameter(config);
  return (spec) => (type === "float16" && halved(spec) ? "float16" : "float32");
};

class ResidentSequences implements SequenceModel<ResidentWeights> {
  readonly #config: DecoderConfig;
  readonly #sessions: Sessions;
  readonly #sampler: Sampler;
  readonly #caches: ResidentCaches;

  constructor(config: DecoderConfig, sessions: Sessions, caches: ResidentCaches) {
    this.#config = config;
    this.#sessions = sessions;
    this.#sampler = new Sampler(config.vocabSize);
    this.#caches = caches;
  }

  arrange(plan: StepPlan, occupied: readonly Sequence[]): Promise<void> {
    return this.#caches.arrange(plan, occupied);
  }

  async decode(
    weights: ResidentWeights,
    { chunks }: DecodeStep,
    historyOf: HistoryOf,
    draws: readonly (Draw | undefined)[],
  ): Promise<StepResults> {
    const { capacity, live } = this.#caches;
    const ids = new Array<number>(live.rows).fill(0);
    // A row without a token gets a position beyond the cache, so that it writes nothing.
    const pasts = new Array<number>(live.rows).fill(capacity);
    const byRow = new Array<Draw | undefined>(live.rows).fill(undefined);
    for (const [index, { sequence, start }] of chunks.entries()) {
      ids[sequence.row] = historyOf(sequence)[start]!;
      pasts[sequence.row] = start;
      byRow[sequence.row] = draws[index];
    }
    using outputs = await this.#sessions.decode.run({
      ...(await this.#weights(weights)),
      ids: int64Vector(ids),
      pastLengths: int64Vector(pasts),
      ...drawFeeds(byRow),
      ...this.#caches.feeds(live),
    });
    this.#caches.replaceLive(outputs);
    const rowOf = (index: number): number => chunks[index]!.sequence.row;
    return this.#stepResults(outputs, byRow, rowOf);
  }

  async feed(
    weights: ResidentWeights,
    { chunks }: PrefillStep,
    historyOf: HistoryOf,
    draws: readonly (Draw | undefined)[],
  ): Promise<StepResults> {
    const batch = chunks.map(({ count, sequence, start }) => ({
      ids: historyOf(sequence).subarray(start, start + count),
      row: sequence.row,
      past: start,
    }));
    using outputs = await this.#runFeed(weights, this.#caches.live, batch, draws);
    this.#caches.replaceLive(outputs);
    return this.#stepResults(outputs, draws, (index) => index);
  }

  async feedPrefixes(weights: ResidentWeights, { chunks }: PrefixStep, historyOf: HistoryOf): Promise<void> {
    const batch = chunks.map(({ count, prefix, sequence, start }) => ({
      ids: historyOf(sequence).subarray(start, start + count),
      row: prefix.row,
      past: start,
    }));
    using outputs = await this.#runFeed(weights, this.#caches.prefixes, batch, []);
    this.#caches.replacePrefixes(outputs);
  }

  close(): void {
    this.#caches.close();
  }

  async #weights(weights: ResidentWeights): Promise<Feeds> {
    if (weights.device === undefined) {
      if (weights.host === undefined) throw new RangeError(`weights version ${weights.version} were let go`);
      weights.device = await this.#sessions.weights.upload(weights.host);
      weights.host = undefined;
    }
    return { ...weights.base, ...weights.device };
  }

  async #runFeed(
    weights: ResidentWeights,
    caches: DeviceCaches,
    batch: readonly RowTokens[],
    draws: readonly (Draw | undefined)[],
  ): Promise<Outputs> {
    const time = paddedTime(Math.max(...batch.map(({ ids }) => ids.length)));
    const ids = new BigInt64Array(batch.length * time);
    const rowSources = Array.from({ length: caches.rows }, (_, row) => row);
    for (const [index, rowTokens] of batch.entries()) {
      for (const [i, id] of rowTokens.ids.entries()) ids[index * time + i] = BigInt(id);
      rowSources[rowTokens.row] = caches.rows + index;
    }
    return this.#sessions.feed.run({
      ...(await this.#weights(weights)),
      ids: int64(ids, [batch.length, time]),
      lengths: int64Vector(batch.map((rowTokens) => rowTokens.ids.length)),
      pastLengths: int64Vector(batch.map(({ past }) => past)),
      from: int64Vector(batch.map(({ row }) => row)),
      back: int64Vector(rowSources),
      ...drawFeeds(batch.map((_, index) => draws[index])),
      ...this.#caches.feeds(caches),
    });
  }

  /** Returns the tokens of a step. The device draws them, or the sampler draws from downloaded logits if a draw truncates. */
  async #stepResults(
    outputs: Outputs,
    draws: readonly (Draw | undefined)[],
    rowOf: (index: number) => number,
  ): Promise<StepResults> {
    const drawn = outputs.float32("drawn");
    const deviceLogits = outputs.take("logits");
    const { vocabSize } = this.#config;
    const [logits] = draws.some((draw) => draw !== undefined && truncates(draw.sampling, vocabSize))
      ? await this.#sessions.logits.download({ logits: deviceLogits })
      : [];
    discard([deviceLogits]);
    const token = (index: number): Token => {
      const row = rowOf(index);
      const draw = draws[row];
      if (logits !== undefined && draw !== undefined) {
        this.#sampler.draw(logits, row * vocabSize, draw.sampling, draw.uniform);
        return this.#sampler;
      }
      const [id = 0, mu = 0, entropy = 0, total = 0] = drawn.subarray(row * DRAW_WIDTH, (row + 1) * DRAW_WIDTH);
      if (!(total > 0 && total < Number.POSITIVE_INFINITY)) throw new NotFiniteLogits();
      return { id, mu, entropy };
    };
    return { keep: () => {}, token };
  }
}

const openSessions = async (config: DecoderConfig, device: Device, type: DeviceFloat): Promise<Sessions> => {
  const caches = cacheOutputNames(config);
  const stepping = { device, keptOutputs: [...caches, "logits"] };
  const inFormat = (model: OnnxModel): OnnxModel => (type === "float16" ? inFloat16(config, model) : model);
  const weights = trainedParameters(config).map((spec) => ({ ...spec, type: parameterType(config, type)(spec) }));
  const shape = [1, config.kvHeads, FIRST_CAPACITY, config.headDim];
  return {
    decode: await Session.open(inFormat(decodeModel(config)), stepping),
    feed: await Session.open(inFormat(feedModel(config)), stepping),
    arrange: await Session.open(inFormat(arrangeModel(config)), { device, keptOutputs: caches }),
    weights: await Transfer.open(weights, device),
    logits: await Transfer.open([{ name: "logits", shape: ["rows", config.vocabSize] }], device),
    caches: await Transfer.open(
      cacheInputNames(config).map((name) => ({ name, shape, type })),
      device,
    ),
  };
};

/**
 * Opens the sessions. Tests use the CPU, whose "device" is host memory. `base` are the weights under an adapter, `type` is the format of
 * matrices and caches. Rejects if the runtime refuses a graph.
 */
export const openResident = async (
  config: DecoderConfig,
  device: Device = cpu,
  base?: Base,
  type: DeviceFloat = "float32",
): Promise<ResidentModel<ResidentWeights>> => {
  const { headDim, kvHeads, layers, maxPositions, vocabSize } = config;
  const read = payloadReader(config);
  const deviceBase = base && (await DeviceBase.open(base, device, parameterType(config, type)));
  const sessions = await openSessions(config, device, type);
  const caches = [await emptyCaches(config, sessions.caches), await emptyCaches(config, sessions.caches)] as const;
  const uploaded = new Set<ResidentWeights>();
  let sequences: ResidentSequences | undefined;
  const forget = (weights: ResidentWeights): void => {
    uploaded.delete(weights);
    weights.host = undefined;
    if (weights.device !== undefined) release(weights.device);
    weights.device = undefined;
  };
  return {
    shape: { layers, kvHeads, headDim, vocabSize, maxPositions },
    versions: { payloadKinds: [payloadKind(config)], canPin: true },
    weights: (version, payload) => {
      const host = viewFeeds(read(version, payload));
      const weights: ResidentWeights = { version, base: deviceBase?.feeds ?? {}, host, device: undefined };
      uploaded.add(weights);
      return weights;
    },
    forget,
    sequences: (slots) => {
      sequences = new ResidentSequences(config, sessions, new ResidentCaches(config, sessions.arrange, caches, slots));
      return sequences;
    },
    close: async () => {
      for (const weights of [...uploaded]) forget(weights);
      if (sequences === undefined) discard(caches.flatMap(({ tensors }) => tensors));
      sequences?.close();
      await deviceBase?.close();
      for (const session of Object.values(sessions)) await session.close();
    },
  };
};
