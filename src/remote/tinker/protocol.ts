/** The start request and the events of the learner's thread for a Tinker server. */
import type { MessagePort } from "node:worker_threads";
import type { RunConfig } from "../../config/RunConfig.ts";
import type { ServerChange } from "../../domain/Server.ts";
import type { LearnerProtocol } from "../../learner/LearnerProtocol.ts";
import type { TokenizerFiles } from "../../model/checkpoint/TokenizerFiles.ts";

export interface TinkerStart {
  readonly config: RunConfig;
  /** Tokenizer files, which a checkpoint's folder also has. */
  readonly tokenizer: TokenizerFiles;
  readonly vocabSize: number;
  /** A text in the model's tokens, to recognise the server's tokenizer. */
  readonly probe: Int32Array;
  /** Folder written by `save` to continue from, or null. */
  readonly restore: string | null;
  /** One port for each reader of versions; the ports are transferred. */
  readonly ports: readonly MessagePort[];
}

/** Tokens that passed through the model since the thread began. */
export interface PassedTokens {
  readonly forward: number;
  readonly backward: number;
}

export type TinkerEvent =
  | { readonly _tag: "server"; readonly change: ServerChange }
  | ({ readonly _tag: "passed" } & PassedTokens);

export type TinkerLearnerProtocol = LearnerProtocol<TinkerStart, TinkerEvent>;
