/** The fixture folders of every family, as transformers saved them, with what transformers makes of them. */
import { join } from "node:path";
import llamaGeneration from "../fixtures/decoders/llama/generation.json" with { type: "json" };
import llama from "../fixtures/decoders/llama/reference.json" with { type: "json" };
import qwen3Generation from "../fixtures/decoders/qwen3/generation.json" with { type: "json" };
import qwen3 from "../fixtures/decoders/qwen3/reference.json" with { type: "json" };
import untiedGeneration from "../fixtures/decoders/untied/generation.json" with { type: "json" };
import untied from "../fixtures/decoders/untied/reference.json" with { type: "json" };
import qwen2Generation from "../fixtures/qwen2-tiny/generation.json" with { type: "json" };
import qwen2 from "../fixtures/qwen2-tiny/reference.json" with { type: "json" };

type Numbers = readonly number[];

/** reference.json, as test/fixtures/decoder_golden.py describes it. */
export interface Reference {
  readonly parameters: Readonly<Record<string, { readonly first: Numbers; readonly sum: number }>>;
  readonly ids: readonly Numbers[];
  readonly lengths: Numbers;
  readonly temperature: number;
  readonly entropyWeight: number;
  readonly logits: ReadonlyArray<readonly Numbers[]>;
  readonly logp: readonly Numbers[];
  readonly entropy: readonly Numbers[];
  readonly gradients: Readonly<Record<string, { readonly norm: number; readonly product: number }>>;
}

/** generation.json: a reply to each turn. */
export interface Generation {
  readonly greedy: readonly Numbers[];
  readonly sampled: ReadonlyArray<{ readonly ids: Numbers; readonly logp: Numbers }>;
}

export interface Folder {
  readonly path: string;
  readonly reference: Reference;
  readonly generation: Generation;
}

const at = (path: string): string => join(import.meta.dirname, "../fixtures", path);

export const folders: ReadonlyArray<readonly [name: string, folder: Folder]> = [
  ["Qwen2", { path: at("qwen2-tiny"), reference: qwen2, generation: qwen2Generation }],
  ["Llama 3", { path: at("decoders/llama"), reference: llama, generation: llamaGeneration }],
  ["Llama, untied, in shards", { path: at("decoders/untied"), reference: untied, generation: untiedGeneration }],
  ["Qwen3", { path: at("decoders/qwen3"), reference: qwen3, generation: qwen3Generation }],
];
