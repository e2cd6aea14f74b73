/** The score stage: rewards of a whole window, because normalisation is relative to it. Its concurrency is windows at once. */
import { Effect } from "effect";
import type { ScoredWindow } from "../../domain/Group.ts";
import { Bus } from "../../flow/Bus.ts";
import { Dials } from "../../flow/Dials.ts";
import * as Stage from "../../flow/Stage.ts";
import { spanned } from "../../flow/spanned.ts";
import type { Assembled } from "../../flow/WindowAssembler.ts";
import { score } from "../../selection/scoring/score.ts";
import { Config } from "../Config.ts";

export interface Scored {
  readonly window: Assembled;
  readonly scored: ScoredWindow;
}

export const make = Effect.gen(function* () {
  const { pipeline, reward } = yield* Config;
  const dials = yield* Dials;
  const bus = yield* Bus;
  const run = Effect.fnUntraced(
    function* (window: Assembled) {
      const scored: Scored = { window, scored: score(window, reward) };
      yield* bus.emit({ _tag: "Scored", window: window.index });
      return scored;
    },
    (scoring, { index }) => spanned(scoring, "score", { window: index }),
  );
  return dials.add(
    yield* Stage.flow({ name: "score", inbox: 1, concurrency: pipeline.score_concurrency, most: 64, run }),
  );
});
