/** The filter stage: a verdict on every group of a scored window. Its concurrency is 1 by nature. */
import { Context, Effect } from "effect";
import { idsOf, type ScoredWindow } from "../../domain/Group.ts";
import * as Filtering from "../../filtering/filter.ts";
import { judgedGroups } from "../../filtering/judged.ts";
import { Bus } from "../../stage/Bus.ts";
import { Dials } from "../../stage/Dials.ts";
import * as Stage from "../../stage/Stage.ts";
import { spanned } from "../../stage/spanned.ts";
import { timed } from "../../stage/timed.ts";
import type { Assembled } from "../../stage/WindowAssembler.ts";
import { Config } from "../Config.ts";
import type { Scored } from "./score.ts";

/** A window after the filter's verdict. */
export interface Judged {
  readonly window: Assembled;
  readonly scored: ScoredWindow;
  readonly filtered: Filtering.Filtered;
  readonly filterSeconds: number;
}

/** A selection in place of the run file's rule; null for that rule. */
export const Selection = Context.Reference<Filtering.Selection | null>("millrace/engine/Selection", {
  defaultValue: () => null,
});

export const make = Effect.gen(function* () {
  const config = yield* Config;
  const bus = yield* Bus;
  const dials = yield* Dials;
  const selection = (yield* Selection) ?? undefined;
  const judge = Effect.fnUntraced(
    function* ({ scored, window }: Scored) {
      const [filtered, filterSeconds] = yield* timed(
        Effect.sync(() => Filtering.filter(scored, config.filter, selection)),
      );
      const kept = new Set(idsOf(filtered.kept));
      const left = idsOf(window.groups).filter((group) => !kept.has(group));
      yield* bus.emit({
        _tag: "Verdict",
        window: window.index,
        kept: [...kept],
        filtered: left,
        judged: judgedGroups(filtered, window),
      });
      const result: Judged = { window, scored, filtered, filterSeconds };
      return result;
    },
    (judging, { window }) => spanned(judging, "filter", { window: window.index }),
  );
  return dials.add(yield* Stage.flow({ name: "filter", inbox: 1, concurrency: 1, run: judge }));
});
