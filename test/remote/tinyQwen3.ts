/**
 * A Qwen3 folder small enough for a real server on the CPU: random weights from a seed, the nano tokenizer, and heads 32 wide, the
 * narrowest that vLLM's attention on the CPU takes. Its output matrix is its own unless it is asked to share the embedding. Our own writer
 * writes it.
 */
import { Effect } from "effect";
import { stream } from "../../src/domain/Random.ts";
import { type Checkpoint, writeCheckpoint } from "../../src/model/checkpoint/HuggingFaceFolder.ts";
import { type DecoderConfig, familyDefaults, parameters } from "../../src/model/graphs/Architecture.ts";
import { initialise } from "../../src/model/graphs/Parameters.ts";
import { nanoTokenizer } from "../../src/model/tokenizer/NanoVocabulary.ts";
import { replaceFolder } from "../../src/support/files/AtomicWrite.ts";

export interface TinyOptions {
  readonly seed?: number;
  /** True if the output matrix is the embedding. */
  readonly tied?: boolean;
  /** Standard deviation of the random weights; large, so that no part of the model is idle. */
  readonly deviation?: number;
  /** Rows of the embedding; the tokenizer's ids by default. */
  readonly rows?: number;
}

const files = nanoTokenizer();
export const vocabSize = Object.keys((files.tokenizerJson.model as { readonly vocab: object }).vocab).length;

export const tinyQwen3: DecoderConfig = {
  ...familyDefaults.qwen3,
  vocabSize,
  hiddenSize: 64,
  intermediateSize: 96,
  layers: 2,
  heads: 4,
  kvHeads: 2,
  headDim: 32,
  rmsNormEps: 1e-6,
  ropeTheta: 10_000,
  maxPositions: 1024,
  tieEmbedding: false,
};

export const tinyCheckpoint = ({
  deviation = 0.2,
  rows = vocabSize,
  seed = 1,
  tied = false,
}: TinyOptions = {}): Checkpoint => {
  const config = { ...tinyQwen3, vocabSize: rows, tieEmbedding: tied };
  const random = stream({ seed, purpose: "initialisation", counters: [] });
  return {
    config,
    tokens: { bos: undefined, eos: [1], pad: 0 },
    parameters: initialise(parameters(config), random, deviation),
    format: "F32",
    tokenizer: files,
  };
};

/** Writes the folder; it appears whole. */
export const writeTinyQwen3 = (folder: string, options?: TinyOptions) =>
  replaceFolder(folder, (partial) => writeCheckpoint(partial, tinyCheckpoint(options)));

/** The same for a script: `node test/remote/tinyQwen3.ts FOLDER`. */
if (import.meta.filename === process.argv[1]) {
  await Effect.runPromise(writeTinyQwen3(process.argv[2] ?? "tiny-qwen3"));
}
