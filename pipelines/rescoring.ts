/** Played episodes, scored again by the learner's pass: wrong ids, or ids behind a wrong history, would show in the log-probabilities. */
import { Effect } from "effect";
import type { Rescoring } from "../src/agents/check/modelFindings.ts";
import { generatorDevice } from "../src/config/devices.ts";
import type { RunConfig } from "../src/config/RunConfig.ts";
import { trainedTokens } from "../src/domain/Batch.ts";
import { type Episode, failed } from "../src/domain/Episode.ts";
import type { Prompt } from "../src/domain/Group.ts";
import { collate } from "../src/learner/collate.ts";
import { scoreOnce } from "../src/learner/TokenScorer.ts";
import type { Checkpoint } from "../src/model/checkpoint/HuggingFaceFolder.ts";
import { useRuntime } from "../src/model/runtime/Session.ts";

/** Scores the episodes of a group as a window would have them; null where none of their tokens would be trained. */
export const rescoringOf = Effect.fnUntraced(function* (
  config: RunConfig,
  checkpoint: Checkpoint,
  prompt: Prompt,
  episodes: readonly Episode[],
) {
  const { generation, model } = config;
  const usable = episodes.filter((episode) => !failed(episode)).map((episode) => ({ episode, score: 0 }));
  const group = { prompt, episodes: usable, failures: [] };
  const batch = collate([group], { window: 0, temperature: generation.temperature, keptRatio: 1 });
  if (trainedTokens(batch) === 0) return null;
  useRuntime(model.runtime);
  const logp = yield* Effect.promise(() => scoreOnce(checkpoint, batch, config));
  // Math.max keeps a NaN, so a score that is none is a difference, too.
  const difference = batch.mask.reduce(
    (largest, trained, t) =>
      trained === 1 ? Math.max(largest, Math.abs((batch.mu[t] ?? Number.NaN) - (logp[t] ?? Number.NaN))) : largest,
    0,
  );
  const isTruncated = generation.top_k !== -1 || generation.top_p < 1;
  const rescoring: Rescoring = {
    difference,
    isExact: model.generator_dtype === "float32" && generatorDevice(model).kind === "cpu" && !isTruncated,
  };
  return rescoring;
});
