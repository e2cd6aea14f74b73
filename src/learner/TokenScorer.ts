/**
 * Scores the ids of a batch under given weights, as updates of the policy do. Invariant: it changes no weights, and opens nothing that an update
 * needs beside the scores.
 */
import type { RunConfig } from "../config/RunConfig.ts";
import { allSequences, type TokenBatch } from "../domain/Batch.ts";
import type { Checkpoint } from "../model/checkpoint/HuggingFaceFolder.ts";
import type { DecoderConfig } from "../model/graphs/Architecture.ts";
import { writableParameters } from "../model/graphs/Parameters.ts";
import { scoreModel } from "../model/graphs/Score.ts";
import { baseOf, readableBase } from "../model/runtime/baseFeeds.ts";
import { weightFeeds } from "./lanes/Lane.ts";
import { Lanes, type LaneWeights } from "./lanes/Lanes.ts";
import { runInto, scalar, splitIntoMicros } from "./microInputs.ts";
import { passOptions } from "./models.ts";

/** Returns the log-probability of every trained id given the ids before it, [tokens], 0 elsewhere. */
export type TokenScorer = (batch: TokenBatch, weights: LaneWeights) => Promise<Float32Array>;

/** Opens the pass on `lanes`, which the caller still owns and closes. */
export const openTokenScorer = async (
  config: DecoderConfig,
  actor: RunConfig["actor"],
  lanes: Lanes,
): Promise<TokenScorer> => {
  const pass = await lanes.pass({
    model: scoreModel(config, passOptions(actor)),
    trained: [],
    sums: [],
    rows: ["logp"],
  });
  return async (batch, weights) => {
    const logp = new Float32Array(batch.ids.length);
    const temperature = scalar(batch.temperature);
    const inputs = splitIntoMicros(batch, allSequences(batch), actor, {}, { temperature });
    await runInto(pass, weights, inputs, "logp", logp);
    return logp;
  };
};

/** The weights of a checkpoint, without its files. */
export interface ScoredCheckpoint extends Pick<Checkpoint, "adapter" | "parameters"> {
  readonly config: DecoderConfig;
}

/** The keys of a run file that decide how a batch is scored. */
export interface ScoringSections {
  readonly actor: RunConfig["actor"];
  readonly model: Pick<RunConfig["model"], "learner_intra_op">;
}

/** Scores a batch under the weights of a checkpoint, on the CPU in this thread. */
export const scoreOnce = async (
  { adapter, config, parameters }: ScoredCheckpoint,
  batch: TokenBatch,
  { actor, model }: ScoringSections,
): Promise<Float32Array> => {
  await using lanes = await Lanes.open(1, model.learner_intra_op);
  const score = await openTokenScorer(config, actor, lanes);
  const trained = adapter?.parameters ?? writableParameters(parameters);
  const frozen = baseOf(config, parameters);
  const base = frozen && (await readableBase(frozen));
  // The lanes close when this returns.
  return await score(batch, { parameters: trained, base, feeds: weightFeeds(trained, base) });
};
