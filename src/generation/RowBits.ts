/**
 * Probes whether this machine gives a row the same bits in every batch, which reproducible runs rely on. A row is fed by each of the
 * generator's graphs in the smallest and in a large batch, with other padding and capacity, and compared to the bit.
 */
import { stream } from "../domain/Random.ts";
import { type DecoderConfig, parameterCount } from "../model/graphs/Architecture.ts";
import { trainedParameters } from "../model/graphs/TrainedParameters.ts";
import { fullPayload } from "../model/weights/Weights.ts";
import { KeyValueCache } from "./KeyValueCache.ts";
import type { LanguageModel, ModelOutputs } from "./LanguageModel.ts";
import { type OpenOptions, open } from "./OnnxModel.ts";

/** Forms in which tokens are fed: a prompt, several tokens after others, one token. */
const forms = ["prefill", "extend", "step"] as const;
export type Form = (typeof forms)[number];

/** Tokens of each row by form. The compared row, which comes first, is shorter than others; the first two fit the small batch. */
const counts = {
  prefill: [16, 5, 30, 9, 12, 21, 3],
  extend: [3, 4, 16, 7, 1, 20, 2],
  step: [1, 1, 1, 1, 1, 1, 1],
} as const satisfies Record<Form, readonly number[]>;

interface Shape {
  readonly rows: number;
  /** Positions to which new tokens of a prompt are padded, and those that come after others. */
  readonly time: { readonly prefill: number; readonly extend: number };
  /** Positions of the cache. */
  readonly capacity: number;
}

const small = { time: { prefill: 16, extend: 4 }, capacity: 64 };
const large: Shape = { rows: counts.prefill.length, time: { prefill: 32, extend: 32 }, capacity: 192 };

/** Feeds rows by one form after the other and returns the first row's results. */
class ComparedBatch<W> {
  readonly #model: LanguageModel<W>;
  readonly #weights: W;
  readonly #shape: Shape;
  readonly #cache: KeyValueCache;

  get rows(): number {
    return this.#shape.rows;
  }

  constructor(model: LanguageModel<W>, weights: W, shape: Shape) {
    this.#model = model;
    this.#weights = weights;
    this.#shape = shape;
    this.#cache = new KeyValueCache(model.shape);
    this.#cache.reserve(shape.rows, shape.capacity);
  }

  /** Feeds all rows by a form; returns logits, keys and values of the first row. */
  async feed(form: Form): Promise<readonly Float32Array[]> {
    const { rows } = this.#shape;
    const time = form === "step" ? 1 : this.#shape.time[form];
    const outputs = await this.#run(form, time);
    for (let row = 0; row < rows; row++) this.#cache.append(row, outputs, row, time, counts[form][row]!, 0);
    const { layers, vocabSize } = this.#model.shape;
    const stored = Array.from({ length: layers }, (_, layer) => this.#storedOf(layer)).flat();
    return [outputs.logits.subarray(0, vocabSize), ...stored];
  }

  #run(form: Form, time: number): Promise<ModelOutputs> {
    const { rows } = this.#shape;
    const ids = new BigInt64Array(rows * time);
    const pasts = BigInt64Array.from({ length: rows }, (_, row) => BigInt(this.#cache.length(row)));
    for (let row = 0; row < rows; row++) {
      const random = stream({ seed: 1, purpose: "play", counters: [forms.indexOf(form), row] });
      for (let i = 0; i < counts[form][row]!; i++)
        ids[row * time + i] = BigInt(random.int(this.#model.shape.vocabSize));
    }
    if (form === "step") return this.#model.step(this.#weights, ids, this.#cache.view(0, rows), pasts);
    const tokens = { ids, time, lengths: BigInt64Array.from({ length: rows }, (_, row) => BigInt(counts[form][row]!)) };
    return form === "prefill"
      ? this.#model.prefill(this.#weights, tokens)
      : this.#model.extend(this.#weights, tokens, this.#cache.view(0, rows), pasts);
  }

  /** Keys and values of a layer at the positions of the first row. */
  #storedOf(layer: number): readonly Float32Array[] {
    const { headDim, kvHeads } = this.#model.shape;
    const { capacity, keys, values } = this.#cache.view(0, 1);
    return [keys[layer]!, values[layer]!].flatMap((array) =>
      Array.from({ length: kvHeads }, (_, head) => {
        const start = head * capacity * headDim;
        return array.subarray(start, start + this.#cache.length(0) * headDim);
      }),
    );
  }
}

const bitsEqual = (a: readonly Float32Array[], b: readonly Float32Array[]): boolean =>
  a.every((array, i) => array.length === b[i]?.length && array.every((value, at) => Object.is(value, b[i]?.[at])));

/** Returns the first form in which a row's bits depend on its batch; undefined if there is none. */
export const formThatDiffers = async <W>(model: LanguageModel<W>, weights: W): Promise<Form | undefined> => {
  const many = new ComparedBatch(model, weights, large);
  // A step may need more rows than a prefill has at least.
  const few = [1, model.leastStepRows].map((rows) => new ComparedBatch(model, weights, { ...small, rows }));
  for (const form of forms) {
    const expected = await many.feed(form);
    for (const batch of few) {
      if (form === "step" && batch.rows < model.leastStepRows) continue;
      if (!bitsEqual(await batch.feed(form), expected)) return form;
    }
  }
  return undefined;
};

/**
 * Returns one layer of the model, which is probed in tens of milliseconds. A kernel depends on a layer's width, not on the number of layers
 * or ids.
 */
const shortened = ({ adapter: _, ...config }: DecoderConfig): DecoderConfig => ({
  ...config,
  layers: 1,
  vocabSize: 64,
  maxPositions: large.capacity,
  tieEmbedding: true,
});

/** Calls `formThatDiffers` on one layer of a model on the CPU, opened as the generator opens it. */
export const probeRowBits = async (config: DecoderConfig, options: OpenOptions): Promise<Form | undefined> => {
  const layer = shortened(config);
  const model = await open(layer, options);
  try {
    const count = parameterCount(trainedParameters(layer));
    // These weights are far cheaper to make than normal numbers; their products round just as well.
    const weights = Float32Array.from({ length: count }, (_, i) => (Math.imul(i + 1, 0x9e3779b1) >> 8) / 2 ** 26);
    return await formThatDiffers(model, model.weights(0, fullPayload(weights)));
  } finally {
    await model.close();
  }
};
