/** What the thread of a learner that trains on a Tinker server is started with, and what it tells. */
import type { MessagePort } from "node:worker_threads";
import type { RunConfig } from "../../config/RunConfig.ts";
import type { ServerChange } from "../../domain/Server.ts";
import type { LearnerProtocol } from "../../learner/LearnerProtocol.ts";
import type { TokenizerFiles } from "../../model/checkpoint/TokenizerFiles.ts";

export interface TinkerStart {
  readonly config: RunConfig;
  /** What a checkpoint's folder holds beside the names of the server's. */
  readonly tokenizer: TokenizerFiles;
  readonly vocabSize: number;
  /** A text in the model's tokens, by which it is seen whether the server's model knows them. */
  readonly probe: Int32Array;
  /** Folder written by `save` to go on from, or null. */
  readonly restore: string | null;
  /** One port per reader of versions, transferred. */
  readonly ports: readonly MessagePort[];
}

/** Tokens that were passed through the model since the thread began. */
export interface Passed {
  readonly forward: number;
  readonly backward: number;
}

export type Told = { readonly _tag: "server"; readonly change: ServerChange } | ({ readonly _tag: "passed" } & Passed);

export type TinkerLearnerProtocol = LearnerProtocol<TinkerStart, Told>;
