/** The run whose memory and speed are predicted. Everything in a plan follows from it; no file of weights is read. */
import type { RunConfig } from "../../config/RunConfig.ts";
import type { DecoderConfig } from "../../model/graphs/Architecture.ts";

export interface PlannedRun {
  readonly pipeline: "train" | "sft" | "evaluate";
  readonly config: RunConfig;
  /** The model's sizes, with those of an adapter that is read from a folder. */
  readonly decoder: DecoderConfig;
  /** Bytes of the tokenizer's file. */
  readonly tokenizerBytes: number;
  /** Tokens before the first reply of an episode; null where they are not known. */
  readonly promptTokens: number | null;
}
