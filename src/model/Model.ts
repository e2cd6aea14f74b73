/**
 * The model a run starts from: weights, tokenizer and chat template of a Hugging Face folder, or a fresh model with the nano
 * tokenizer. They are read once and checked together.
 */
import { readdir } from "node:fs/promises";
import { Effect } from "effect";
import type { RunConfig } from "../config/RunConfig.ts";
import { BadInput } from "../domain/Errors.ts";
import { bucket } from "../domain/Passes.ts";
import type { Random } from "../domain/Random.ts";
import type { CheckpointError } from "./checkpoint/CheckpointError.ts";
import {
  type Checkpoint,
  type Memory,
  modelFiles,
  readCheckpoint,
  readModelConfig,
} from "./checkpoint/HuggingFaceFolder.ts";
import { read as readTokenizerFiles } from "./checkpoint/TokenizerFiles.ts";
import { type DecoderConfig, familyDefaults, parameters } from "./graphs/Architecture.ts";
import { initialise, parametersOf } from "./graphs/Parameters.ts";
import * as ChatTemplate from "./tokenizer/ChatTemplate.ts";
import { nanoTokenizer } from "./tokenizer/NanoVocabulary.ts";
import * as Tokenizer from "./tokenizer/Tokenizer.ts";

export interface Model {
  readonly checkpoint: Checkpoint;
  readonly tokenizer: Tokenizer.Tokenizer;
  readonly chat: ChatTemplate.ChatTemplate;
  /** Ids that end a reply. */
  readonly stopIds: readonly number[];
}

const badInput = ({ message }: CheckpointError): BadInput => new BadInput({ message });

const eosOf = ({ eosId }: Tokenizer.Tokenizer): readonly number[] => (eosId === undefined ? [] : [eosId]);

const assemble = (checkpoint: Checkpoint, path: string): Effect.Effect<Model, CheckpointError> =>
  Effect.gen(function* () {
    const tokenizer = yield* Tokenizer.make(checkpoint.tokenizer, {
      path,
      embeddingRows: checkpoint.config.vocabSize,
    });
    const { eos } = checkpoint.tokens;
    const chat = yield* ChatTemplate.make(tokenizer, tokenizer.chatStyle, eos.length > 0 ? eos : eosOf(tokenizer));
    return { checkpoint, tokenizer, chat, stopIds: chat.endIds };
  });

/** Fails with BadInput naming the file, tensor or key that cannot be used. */
export const load = (folder: string, memory: Memory = "own"): Effect.Effect<Model, BadInput> =>
  Effect.flatMap(readCheckpoint(folder, memory), (checkpoint) => assemble(checkpoint, folder)).pipe(
    Effect.mapError(badInput),
  );

/** Loads a model whose weights are elsewhere: tokenizer, chat template and sizes. Fails with BadInput naming the file or key. */
export const loadWithoutWeights = (folder: string): Effect.Effect<Model, BadInput> =>
  Effect.gen(function* () {
    const config = yield* readModelConfig(folder);
    const tokenizer = yield* readTokenizerFiles(folder);
    return yield* assemble({ ...config, parameters: parametersOf([]), format: "F32", tokenizer }, folder);
  }).pipe(Effect.mapError(badInput));

/**
 * Returns the shape of a randomly initialised model, with its nano tokenizer. Fails with BadInput if the sizes do not fit each other.
 */
export const randomShape = (sizes: RunConfig["sft"]["architecture"]) =>
  Effect.gen(function* () {
    const headDim = sizes.hidden_size / sizes.heads;
    if (!Number.isInteger(headDim / 2) || sizes.heads % sizes.kv_heads !== 0) {
      return yield* new BadInput({
        message:
          `sft.architecture: hidden_size ${sizes.hidden_size} must divide into ${sizes.heads} heads of even width, ` +
          `and kv_heads ${sizes.kv_heads} must divide heads`,
      });
    }
    const files = nanoTokenizer();
    const tokenizer = yield* Effect.mapError(Tokenizer.make(files), badInput);
    const config: DecoderConfig = {
      ...familyDefaults.qwen2,
      vocabSize: tokenizer.vocabSize,
      hiddenSize: sizes.hidden_size,
      intermediateSize: sizes.intermediate_size,
      layers: sizes.layers,
      heads: sizes.heads,
      kvHeads: sizes.kv_heads,
      headDim,
      rmsNormEps: 1e-6,
      ropeTheta: 10_000,
      maxPositions: sizes.max_positions,
      tieEmbedding: true,
    };
    return { config, files, tokenizer };
  });

/** Makes a model with random weights and the nano tokenizer. Fails with BadInput if the sizes do not fit each other. */
export const randomModel = (sizes: RunConfig["sft"]["architecture"], random: Random): Effect.Effect<Model, BadInput> =>
  Effect.gen(function* () {
    const { config, files, tokenizer } = yield* randomShape(sizes);
    const checkpoint: Checkpoint = {
      config,
      tokens: { bos: undefined, eos: eosOf(tokenizer), pad: tokenizer.specials.get("<pad>") },
      parameters: initialise(parameters(config), random),
      format: "F32",
      tokenizer: files,
    };
    return yield* Effect.mapError(assemble(checkpoint, "the nano tokenizer"), badInput);
  });

/** Fails with BadInput if a resumed model has other sizes than the model that the run began with. */
export const checkSameSizes = (key: string, start: Model, current: Model): Effect.Effect<void, BadInput> => {
  const sizes = ({ checkpoint, tokenizer }: Model): ReadonlyMap<string, string> =>
    new Map(
      Object.entries({ ...checkpoint.config, vocabulary: tokenizer.vocabSize }).map(([name, value]) => [
        name,
        typeof value === "string" ? value : JSON.stringify(value),
      ]),
    );
  const [startSizes, currentSizes] = [sizes(start), sizes(current)];
  const other = [...startSizes].find(([name, value]) => value !== currentSizes.get(name));
  if (other === undefined) return Effect.void;
  const [name, value] = other;
  const message = `${key}: another model than the run began with: ${name} is ${value}, in its checkpoint ${currentSizes.get(name)}`;
  return Effect.fail(new BadInput({ message }));
};

/** Fails with BadInput if an episode, padded as the learner pads it, can outgrow the model's positions. */
export const checkContext = ({ rollout }: RunConfig, { checkpoint }: Model): Effect.Effect<void, BadInput> => {
  const { max_model_len: length } = rollout;
  const { maxPositions: positions } = checkpoint.config;
  if (bucket(length) <= positions) return Effect.void;
  const step = positions <= 256 ? 16 : 64;
  const message = `rollout.max_model_len: ${length}: the model has ${positions} positions; nearest: ${Math.floor(positions / step) * step}`;
  return Effect.fail(new BadInput({ message }));
};

/** Fails with BadInput if `folder` is a file or holds anything but a model's files, because writing a model replaces the folder. */
export const checkReplaceable = (key: string, folder: string): Effect.Effect<void, BadInput> =>
  Effect.gen(function* () {
    const bad = (problem: string) =>
      new BadInput({ message: `${key}: ${JSON.stringify(folder)}: ${problem}; name a folder of its own` });
    const names = yield* Effect.tryPromise({ try: () => readdir(folder), catch: (cause) => cause }).pipe(
      Effect.catch((cause) =>
        cause instanceof Error && "code" in cause && cause.code === "ENOENT"
          ? Effect.succeed([])
          : Effect.fail(bad(`it is no folder that can be replaced (${String(cause)})`)),
      ),
    );
    const other = names.find((name) => !modelFiles.includes(name));
    if (other !== undefined) {
      return yield* bad(`a model replaces the whole folder, and this one holds ${JSON.stringify(other)}`);
    }
  });
