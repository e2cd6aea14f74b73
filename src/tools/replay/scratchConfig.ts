/** The configuration under which a recorded run is trained again: the recorded one without anything that no update depends on. */
import type { RunConfig } from "../../config/RunConfig.ts";

export interface ScratchOptions {
  /** Folder below which the scratch run lies. */
  readonly dir: string;
  /** Step of the only checkpoint; 0 for none before the end. */
  readonly saveAt: number;
}

/** Keeps the number of training steps, because learning rates may decay over it. */
export const scratchConfig = (config: RunConfig, { dir, saveAt }: ScratchOptions): RunConfig => ({
  ...config,
  run: { ...config.run, dir, name: "replay" },
  trainer: {
    ...config.trainer,
    test_freq: 0,
    val_before_train: false,
    val_at_end: false,
    save_freq: saveAt,
    trajectory_freq: 0,
    success_stop_validations: 0,
    keep_best: { ...config.trainer.keep_best, metric: "" },
    gradient_analysis_mode: false,
  },
  pipeline: { ...config.pipeline, autotune: false },
  metrics: { ...config.metrics, sinks: ["jsonl"], console: "off", trace: false, events: false },
});
