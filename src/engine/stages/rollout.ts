/** The rollout stage: plays an admitted prompt's group. Its concurrency is groups in flight. */
import { Effect } from "effect";
import { mostSlots } from "../../config/mostSlots.ts";
import type { RunConfig } from "../../config/RunConfig.ts";
import { summaryOf } from "../../domain/EpisodeSummary.ts";
import { failureOf, groupTokens, isFailed, type Prompt } from "../../domain/Group.ts";
import * as GroupProgram from "../../rollout/group.ts";
import * as Admission from "../../stage/Admission.ts";
import { Bus } from "../../stage/Bus.ts";
import { Dials } from "../../stage/Dials.ts";
import { Gate } from "../../stage/Gate.ts";
import * as Stage from "../../stage/Stage.ts";
import { groupSpanned } from "../../stage/spanned.ts";
import { Config } from "../Config.ts";
import { Episodes } from "../Episodes.ts";

/**
 * Groups in flight: all that admission allows. The slots bound their episodes (`Slots.within`), so that one straggler of a group does
 * not keep the slots of its finished members idle.
 */
export const rolloutConcurrency = (config: RunConfig, rules: Admission.Rules): number => {
  const { rollout_concurrency: given } = config.pipeline;
  return given > 0 && rules.mode !== "lockstep" ? given : (Admission.lead(rules) + 1) * rules.groups;
};

export const make = Effect.gen(function* () {
  const config = yield* Config;
  const bus = yield* Bus;
  const dials = yield* Dials;
  const { rules } = yield* Gate;
  const { rollout, training } = yield* Episodes;
  /** Tags that ran out of instances of their own. */
  const repeating = new Set<string>();
  const play = Effect.fnUntraced(
    function* (prompt: Prompt) {
      const group = yield* GroupProgram.play(rollout, training, prompt);
      const reason = failureOf(group);
      yield* bus.emit({
        _tag: "Finished",
        group: prompt.group,
        tokens: groupTokens(group),
        failed: isFailed(group),
        tag: prompt.tag,
        episodes: group.episodes.map(summaryOf),
        ...(reason === undefined ? {} : { reason }),
      });
      if (group.heldOut && !repeating.has(prompt.tag)) {
        repeating.add(prompt.tag);
        yield* bus.emit({ _tag: "ValidationRepeated", group: prompt.group, tag: prompt.tag });
      }
      return group;
    },
    (played, { group, seed, tag }) => groupSpanned(played, group, { tag, seed }),
  );
  const concurrency = rolloutConcurrency(config, rules);
  const most = mostSlots(config).rollout ?? null;
  return dials.add(yield* Stage.flow({ name: "rollout", inbox: 1, concurrency, most, run: play }));
});
