import { describe, it } from "@effect/vitest";
import { Effect } from "effect";
import { expect } from "vitest";
import * as Position from "../../src/domain/Position.ts";
import * as RunState from "../../src/domain/RunState.ts";
import * as Checkpoints from "../../src/observe/record/Checkpoints.ts";
import { reachConfig } from "../build/config.ts";
import { problemsIn } from "../problems.ts";
import { inFolder, mixed, newest, stopOn, train } from "./fakes.ts";

const state = (step: number, groups: number): RunState.RunState => ({
  ...RunState.initial,
  step,
  position: Position.start({ consumed: step, groups }),
});
const config = (env_groups: number, window_order = "admission") =>
  reachConfig({ es_manager: { train: { env_groups, n_groups: [env_groups] } }, pipeline: { window_order } });

describe("a checkpoint's run", () => {
  it.effect("goes on where the windows are cut as before, or none was consumed yet", () =>
    Effect.gen(function* () {
      yield* Checkpoints.checkResumable(config(4), state(3, 4));
      yield* Checkpoints.checkResumable(config(4, "completion"), state(3, 4));
      yield* Checkpoints.checkResumable(config(2), state(0, 4));
    }),
  );

  it.effect("does not go on with other windows: their groups would never come", () =>
    Effect.gen(function* () {
      const fewer = yield* Effect.flip(Checkpoints.checkResumable(config(2), state(3, 4)));
      expect(problemsIn(fewer.message)).toMatchObject([{ key: "es_manager.train.env_groups", nearest: "4" }]);
    }),
  );

  it.live("is one that a stop in the middle of a window leaves", () =>
    inFolder(
      Effect.fnUntraced(function* (folder) {
        const async = reachConfig({
          pipeline: { mode: "async", max_staleness: 2, rollout_concurrency: 8, stop_deadline_ms: 5 },
          trainer: { total_training_steps: 6 },
        });
        const onEvent = stopOn("Updated", ({ window }) => window === 1);
        const slow = (group: number, member: number) => ({ ...mixed(group, member), replyMs: group === 5 ? 500 : 1 });
        yield* train({ config: async, fates: slow, folder, onEvent });
        const { state } = yield* newest(folder);
        expect(state.seeds.returned.length).toBeGreaterThan(0);
        yield* Checkpoints.checkResumable(async, state);
      }),
    ),
  );
});
