/** The score stage: rewards of a whole window, because normalisation is relative to it. Its concurrency is windows at once. */
import { Effect } from "effect";
import type { ScoredWindow } from "../../domain/Group.ts";
import { Bus } from "../../flow/Bus.ts";
import * as Stage from "../../flow/Stage.ts";
import { StageRegistry } from "../../flow/StageRegistry.ts";
import { spanned } from "../../flow/spanned.ts";
import type { AssembledWindow } from "../../flow/WindowAssembler.ts";
import { score } from "../../selection/scoring/score.ts";
import { Config } from "../RunContext.ts";

/** A window, and the scores of its episodes. */
export interface ScoreOutput {
  readonly window: AssembledWindow;
  readonly scored: ScoredWindow;
}

export const make = Effect.gen(function* () {
  const { pipeline, reward } = yield* Config;
  const registry = yield* StageRegistry;
  const bus = yield* Bus;
  const run = Effect.fnUntraced(
    function* (window: AssembledWindow) {
      const scored: ScoreOutput = { window, scored: score(window, reward) };
      yield* bus.emit({ _tag: "Scored", window: window.index });
      return scored;
    },
    (scoring, { index }) => spanned(scoring, "score", { window: index }),
  );
  return registry.add(
    yield* Stage.flow({ name: "score", inbox: 1, concurrency: pipeline.score_concurrency, most: 64, run }),
  );
});
