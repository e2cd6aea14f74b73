/**
 * The filter stage: a verdict on every group of a scored window, or a refill, with which the window comes again. Its concurrency is 1 by
 * nature. Invariant: verdicts come in the order of the windows, one each.
 */
import { Context, Effect } from "effect";
import { idsOf, type ScoredWindow } from "../../domain/Group.ts";
import { timed } from "../../domain/Instant.ts";
import { Bus } from "../../flow/Bus.ts";
import * as ReorderBuffer from "../../flow/ReorderBuffer.ts";
import * as Stage from "../../flow/Stage.ts";
import { StageRegistry } from "../../flow/StageRegistry.ts";
import { spanned } from "../../flow/spanned.ts";
import type { AssembledWindow } from "../../flow/WindowAssembler.ts";
import * as Filtering from "../../selection/filtering/filter.ts";
import * as Refill from "../../selection/filtering/refill.ts";
import { Config } from "../RunContext.ts";
import type { ScoreOutput } from "./score.ts";

/** A window after the filter's verdict. */
export interface JudgedWindow {
  readonly window: AssembledWindow;
  readonly scored: ScoredWindow;
  readonly filtered: Filtering.FilterResult;
  readonly filterSeconds: number;
}

/** A selection in place of the run file's rule; null for that rule. */
export const Selection = Context.Reference<Filtering.Selection | null>("millrace/engine/Selection", {
  defaultValue: () => null,
});

export const make = Effect.gen(function* () {
  const config = yield* Config;
  const bus = yield* Bus;
  const registry = yield* StageRegistry;
  const selection = (yield* Selection) ?? undefined;
  const judge = Effect.fnUntraced(
    function* ({ scored, window }: ScoreOutput) {
      const [filtered, filterSeconds] = yield* timed(
        Effect.sync(() => Filtering.filter(scored, config.filter, selection)),
      );
      const allGroups = [...window.groups, ...window.failed];
      const refill = Refill.nextRefill(config.filter.refill, window.refills, filtered.kept.length, allGroups.length);
      if (refill !== null) {
        yield* bus.emit({ _tag: "Refill", window: window.index, round: window.refills + 1, ...refill });
        return null;
      }
      const kept = new Set(idsOf(filtered.kept));
      const dropped = idsOf(window.groups).filter((group) => !kept.has(group));
      yield* bus.emit({
        _tag: "Verdict",
        window: window.index,
        kept: [...kept],
        filtered: dropped,
        judged: Filtering.judgedGroups(filtered, window),
      });
      const result: JudgedWindow = { window, scored, filtered, filterSeconds };
      return result;
    },
    (judging, { window }) => spanned(judging, "filter", { window: window.index }),
  );
  let buffer: ReorderBuffer.ReorderBuffer<ScoreOutput> = ReorderBuffer.start(bus.state().step);
  /** The verdicts that one more window makes due: its own, and those of windows that waited for it. */
  const run = Effect.fnUntraced(function* (scored: ScoreOutput) {
    buffer = ReorderBuffer.push(buffer, scored);
    const judged: JudgedWindow[] = [];
    for (let head = ReorderBuffer.peek(buffer); head !== undefined; head = ReorderBuffer.peek(buffer)) {
      const result = yield* judge(head);
      buffer = result === null ? ReorderBuffer.retract(buffer) : ReorderBuffer.advance(buffer);
      if (result !== null) judged.push(result);
    }
    return judged;
  });
  return registry.add(yield* Stage.gather({ name: "filter", inbox: 1, run, rest: Effect.succeed([]) }));
});
