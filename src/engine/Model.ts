/**
 * The model a run starts from: its folder's weights, tokenizer and chat template, read once and checked together. Enters: a Hugging Face
 * folder, or sizes for a fresh model with the nano tokenizer; leaves: everything threads and templates are made from.
 */
import { Effect } from "effect";
import type { RunConfig } from "../config/RunConfig.ts";
import { BadInput } from "../domain/Errors.ts";
import type { Random } from "../domain/Random.ts";
import { parameters, type Qwen2Config } from "../policy/model/Architecture.ts";
import type { CheckpointError } from "../policy/model/checkpoint/CheckpointError.ts";
import { type Checkpoint, readCheckpoint } from "../policy/model/checkpoint/HuggingFaceFolder.ts";
import { initialise } from "../policy/model/Parameters.ts";
import * as ChatTemplate from "../policy/tokenizer/ChatTemplate.ts";
import { nanoTokenizer } from "../policy/tokenizer/NanoVocabulary.ts";
import * as Tokenizer from "../policy/tokenizer/Tokenizer.ts";

export interface Model {
  readonly checkpoint: Checkpoint;
  readonly tokenizer: Tokenizer.Tokenizer;
  readonly chat: ChatTemplate.ChatTemplate;
  /** Ids that end a reply. */
  readonly stopIds: readonly number[];
}

const unusable = ({ message }: CheckpointError): BadInput => new BadInput({ message });

const assemble = (checkpoint: Checkpoint, path: string): Effect.Effect<Model, CheckpointError> =>
  Effect.gen(function* () {
    const tokenizer = yield* Tokenizer.make(checkpoint.tokenizer, {
      path,
      embeddingRows: checkpoint.config.vocabSize,
    });
    const chat = yield* ChatTemplate.make(tokenizer);
    return { checkpoint, tokenizer, chat, stopIds: [...new Set([chat.endId, ...checkpoint.tokens.eos])] };
  });

/** Fails with BadInput naming the file, tensor or key that cannot be used. */
export const load = (folder: string): Effect.Effect<Model, BadInput> =>
  Effect.flatMap(readCheckpoint(folder), (checkpoint) => assemble(checkpoint, folder)).pipe(Effect.mapError(unusable));

/** A model at random with the nano tokenizer. Fails with BadInput where the sizes do not fit each other. */
export const fresh = (sizes: RunConfig["sft"]["architecture"], random: Random): Effect.Effect<Model, BadInput> =>
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
    const tokenizer = yield* Effect.mapError(Tokenizer.make(files), unusable);
    const config: Qwen2Config = {
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
    const checkpoint: Checkpoint = {
      config,
      tokens: { bos: undefined, eos: [tokenizer.eosId], pad: tokenizer.specials.get("<pad>") },
      parameters: initialise(parameters(config), random),
      format: "F32",
      tokenizer: files,
    };
    return yield* Effect.mapError(assemble(checkpoint, "the nano tokenizer"), unusable);
  });
