/** `trainer.replay` refuses settings under which a run could not be replayed, by name. */
import { expect, it } from "vitest";
import { replay } from "../../src/config/checks/replay.ts";
import { tinyConfig } from "../build/tinyConfig.ts";

const config = tinyConfig("/none");
const recorded = { ...config, trainer: { ...config.trainer, replay: true } };

it("accepts a run of this process, and any run that is not recorded", () => {
  expect(replay(recorded)).toEqual([]);
  expect(replay({ ...config, trainer: { ...config.trainer, log_replies: false } })).toEqual([]);
});

it("refuses windows that depend on time, and a run without a log", () => {
  expect(replay({ ...recorded, pipeline: { ...config.pipeline, window_order: "completion" } })).toEqual([
    "pipeline.window_order: completion: under trainer.replay=true windows must not depend on time; nearest: admission",
  ]);
  expect(replay({ ...recorded, trainer: { ...recorded.trainer, log_replies: false } })).toHaveLength(1);
});
