/**
 * The filter stage: a verdict on every group of a scored window, or a refill, with which the window comes again. Its concurrency is 1 by
 * nature. Invariant: verdicts come in the order of the windows, one each.
 */
import { Context, Effect } from "effect";
import { idsOf, type ScoredWindow } from "../../domain/Group.ts";
import { Bus } from "../../flow/Bus.ts";
import { Dials } from "../../flow/Dials.ts";
import * as InTurn from "../../flow/InTurn.ts";
import * as Stage from "../../flow/Stage.ts";
import { spanned } from "../../flow/spanned.ts";
import { timed } from "../../flow/timed.ts";
import type { Assembled } from "../../flow/WindowAssembler.ts";
import * as Filtering from "../../selection/filtering/filter.ts";
import { judgedGroups } from "../../selection/filtering/judged.ts";
import * as Refill from "../../selection/filtering/refill.ts";
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
      const all = [...window.groups, ...window.failed];
      const asked = Refill.wanted(config.filter.refill, window.refills, filtered.kept.length, all.length);
      if (asked !== null) {
        yield* bus.emit({ _tag: "Refill", window: window.index, round: window.refills + 1, ...asked });
        return null;
      }
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
  let turn: InTurn.InTurn<Scored> = InTurn.start(bus.state().step);
  /** The verdicts that one more window makes due: its own, and those of windows that waited for it. */
  const run = Effect.fnUntraced(function* (scored: Scored) {
    turn = InTurn.come(turn, scored);
    const judged: Judged[] = [];
    for (let head = InTurn.head(turn); head !== undefined; head = InTurn.head(turn)) {
      const result = yield* judge(head);
      turn = result === null ? InTurn.withdrawn(turn) : InTurn.passed(turn);
      if (result !== null) judged.push(result);
    }
    return judged;
  });
  return dials.add(yield* Stage.gather({ name: "filter", inbox: 1, run, rest: Effect.succeed([]) }));
});
