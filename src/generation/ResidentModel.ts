/**
 * The language model on a device that keeps its tensors. A version's weights are uploaded once, caches stay on the device, and a step
 * returns only drawn tokens. Sequences and shared prefixes have caches of one capacity. Invariants: a run returns whole new caches, and the
 * old ones are released after it; positions beyond a row's length are never read.
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
  otherName,
} from "../model/graphs/DeviceDecode.ts";
import { DRAW_WIDTH } from "../model/graphs/Draw.ts";
import { trainedParameters } from "../model/graphs/TrainedParameters.ts";
import { type Base, viewFeeds } from "../model/runtime/baseFeeds.ts";
import { DeviceBase } from "../model/runtime/DeviceBase.ts";
import {
  type DeviceTensor,
  discard,
  type Feeds,
  float32,
  int64,
  type Outputs,
  Session,
} from "../model/runtime/Session.ts";
import { release, type Tensors, Transfer } from "../model/runtime/Transfer.ts";
import type { DeviceFloat } from "../model/runtime/Uploader.ts";
import type { OnnxModel } from "../model/tensor/Onnx.ts";
import { payloadKind, payloadReader } from "../model/weights/payloads.ts";
import { toBucket } from "./KeyValueCache.ts";
import type { ResidentModel } from "./LanguageModel.ts";
import { paddedTime } from "./Packing.ts";
import { NotFiniteLogits, Sampler } from "./Sampler.ts";
import type { Draw, HistoryOf, SequenceModel, StepResults, Token } from "./SequenceModel.ts";
import type { DecodeStep, PrefillStep, PrefixStep, Sequence, StepPlan } from "./StepPlan.ts";
import { truncates } from "./Truncation.ts";

/** Capacity of new caches, in positions. */
const FIRST_CAPACITY = toBucket(1);

/** Rows are reserved in multiples of this, so that few shapes occur. */
const ROW_BUCKET = 8;

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

/** Caches of one set of rows, in the order of `cacheInputNames`. */
interface DeviceCaches {
  readonly rows: number;
  readonly tensors: readonly DeviceTensor[];
}

/** New tokens for a row of a cache. */
interface RowTokens {
  readonly ids: Int32Array;
  readonly row: number;
  readonly past: number;
}

const int64Vector = (values: readonly number[]) => int64(BigInt64Array.from(values, BigInt), [values.length]);
const range = (count: number): readonly number[] => Array.from({ length: count }, (_, i) => i);

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
  readonly #rowLimit: number;
  readonly #sampler: Sampler;
  #capacity: number;
  #live: DeviceCaches;
  #prefixes: DeviceCaches;

  /** Takes ownership of the two caches, each of one row and `FIRST_CAPACITY` positions. */
  constructor(
    config: DecoderConfig,
    sessions: Sessions,
    [live, prefixes]: readonly [DeviceCaches, DeviceCaches],
    slots: number,
  ) {
    this.#config = config;
    this.#sessions = sessions;
    this.#rowLimit = toBucket(slots, ROW_BUCKET);
    this.#sampler = new Sampler(config.vocabSize);
    this.#capacity = FIRST_CAPACITY;
    this.#live = live;
    this.#prefixes = prefixes;
  }

  async arrange({ loads, swaps, step }: StepPlan, occupied: readonly Sequence[]): Promise<void> {
    let rows = this.#live.rows;
    for (const { row } of occupied)
      if (row >= rows) rows = Math.min(this.#rowLimit, toBucket(Math.max(2 * rows, row + 1), ROW_BUCKET));
    const prefixes = step.kind === "prefix" ? step.chunks.map(({ prefix }) => prefix.row + 1) : [];
    const prefixRows = toBucket(Math.max(this.#prefixes.rows, ...prefixes), ROW_BUCKET);
    const capacity = this.#neededCapacity(step, loads, occupied);
    const hasGrown = capacity !== this.#capacity;
    const source = [...range(this.#live.rows), ...new Array<number>(rows - this.#live.rows).fill(0)];
    for (const { a, b } of swaps) [source[a], source[b]] = [source[b]!, source[a]!];
    for (const { prefix, sequence } of loads) source[sequence.row] = this.#live.rows + prefix.row;
    const hasMoved = rows !== this.#live.rows || swaps.length > 0 || loads.length > 0;
    const [live, shared] = [this.#live, this.#prefixes];
    const positions = range(capacity).map((position) => Math.min(position, this.#capacity - 1));
    if (hasGrown || hasMoved) this.#live = await this.#rearrange(live, shared, source, positions);
    if (hasGrown || prefixRows !== shared.rows) {
      const sharedSource = range(prefixRows).map((row) => Math.min(row, shared.rows - 1));
      this.#prefixes = await this.#rearrange(shared, live, sharedSource, positions);
      discard(shared.tensors);
    }
    if (hasGrown || hasMoved) discard(live.tensors);
    this.#capacity = capacity;
  }

  async decode(
    weights: ResidentWeights,
    { chunks }: DecodeStep,
    historyOf: HistoryOf,
    draws: readonly (Draw | undefined)[],
  ): Promise<StepResults> {
    const { rows } = this.#live;
    const ids = new Array<number>(rows).fill(0);
    // A row without a token gets a position beyond the cache, so that it writes nothing.
    const pasts = new Array<number>(rows).fill(this.#capacity);
    const byRow = new Array<Draw | undefined>(rows).fill(undefined);
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
      ...this.#feeds(this.#live),
    });
    this.#live = this.#replaced(outputs, this.#live);
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
    using outputs = await this.#runFeed(weights, this.#live, batch, draws);
    this.#live = this.#replaced(outputs, this.#live);
    return this.#stepResults(outputs, draws, (index) => index);
  }

  async feedPrefixes(weights: ResidentWeights, { chunks }: PrefixStep, historyOf: HistoryOf): Promise<void> {
    const batch = chunks.map(({ count, prefix, sequence, start }) => ({
      ids: historyOf(sequence).subarray(start, start + count),
      row: prefix.row,
      past: start,
    }));
    using outputs = await this.#runFeed(weights, this.#prefixes, batch, []);
    this.#prefixes = this.#replaced(outputs, this.#prefixes);
  }

  close(): void {
    discard([...this.#live.tensors, ...this.#prefixes.tensors]);
  }

  /** Returns the capacity in positions that the step needs. */
  #neededCapacity(step: StepPlan["step"], loads: StepPlan["loads"], occupied: readonly Sequence[]): number {
    const loading = new Map(loads.map(({ count, sequence }) => [sequence, count]));
    let longest = 0;
    for (const sequence of occupied) longest = Math.max(longest, loading.get(sequence) ?? sequence.cached);
    let needed = longest + 1;
    if (step.kind === "prefill" || step.kind === "prefix")
      for (const { count, start } of step.chunks) needed = Math.max(needed, start + count);
    if (toBucket(needed) > this.#capacity) return toBucket(needed);
    // The capacity never shrinks, because prefixes may be longer than any row.
    return this.#capacity;
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
    const rowSources = [...range(caches.rows)];
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
      ...this.#feeds(caches),
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

  #feeds({ tensors }: DeviceCaches): Feeds {
    return Object.fromEntries(cacheInputNames(this.#config).map((name, i) => [name, tensors[i]!]));
  }

  /** Returns the new caches of a run and releases those it read. */
  #replaced(outputs: Outputs, { rows, tensors }: DeviceCaches): DeviceCaches {
    discard(tensors);
    return { rows, tensors: cacheOutputNames(this.#config).map((name) => outputs.take(name)) };
  }

  async #rearrange(
    rowTokens: DeviceCaches,
    other: DeviceCaches,
    rows: readonly number[],
    positions: readonly number[],
  ): Promise<DeviceCaches> {
    const others = cacheInputNames(this.#config).map((name, i) => [otherName(name), other.tensors[i]!] as const);
    using outputs = await this.#sessions.arrange.run({
      ...this.#feeds(rowTokens),
      ...Object.fromEntries(others),
      rows: int64Vector(rows),
      positions: int64Vector(positions),
    });
    return { rows: rows.length, tensors: cacheOutputNames(this.#config).map((name) => outputs.take(name)) };
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

const emptyCaches = async (config: DecoderConfig, { caches }: Sessions): Promise<DeviceCaches> => {
  const dims = [1, config.kvHeads, FIRST_CAPACITY, config.headDim];
  const zeros = float32(new Float32Array(config.kvHeads * FIRST_CAPACITY * config.headDim), dims);
  const names = cacheInputNames(config);
  const tensors = await caches.upload(Object.fromEntries(names.map((name) => [name, zeros])));
  return { rows: 1, tensors: names.map((name) => tensors[name]!) };
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
  const caches = [await emptyCaches(config, sessions), await emptyCaches(config, sessions)] as const;
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
      sequences = new ResidentSequences(config, sessions, caches, slots);
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
