/** The rollout stage: plays an admitted prompt's group. Its concurrency is groups in flight. */
import { Effect, identity } from "effect";
import { groupsInFlight, maxPermits } from "../../config/maxPermits.ts";
import { summaryOf } from "../../domain/EpisodeSummary.ts";
import { failureOf, groupTokens, isFailed, type Prompt } from "../../domain/Group.ts";
import * as RunState from "../../domain/RunState.ts";
import { Bus } from "../../flow/Bus.ts";
import * as Stage from "../../flow/Stage.ts";
import { StageRegistry } from "../../flow/StageRegistry.ts";
import { groupSpanned } from "../../flow/spanned.ts";
import { loggedPolicy } from "../../generation/LoggedPolicy.ts";
import { Policy } from "../../generation/Policy.ts";
import { CurrentReplyLog } from "../../observe/record/replies/ReplyLog.ts";
import { CurrentGroupPlayer } from "../../rollout/GroupPlayer.ts";
import { Config, RolloutSetup } from "../RunContext.ts";
import { Reward, rewarded } from "../reward.ts";

export const make = Effect.gen(function* () {
  const config = yield* Config;
  const bus = yield* Bus;
  const registry = yield* StageRegistry;
  const { rollout, training } = yield* RolloutSetup;
  const groups = yield* CurrentGroupPlayer;
  const reward = yield* Reward;
  const log = yield* CurrentReplyLog;
  /** Plays a group by the policy, or by the replies that the log holds of its window. */
  const playLogged: <A, E, R>(playing: Effect.Effect<A, E, R>, prompt: Prompt) => Effect.Effect<A, E, R | Policy> =
    log === null
      ? identity
      : (playing, { group }) =>
          Effect.flatMap(log.window(RunState.windowOf(bus.state(), group)), (replies) =>
            Effect.updateService(playing, Policy, (policy) => loggedPolicy(policy, replies)),
          );
  /** Tags that ran out of instances of their own. */
  const repeating = new Set<string>();
  const play = Effect.fnUntraced(
    function* (prompt: Prompt) {
      const mode = prompt.pin === undefined ? training : { ...training, pin: prompt.pin };
      const group = rewarded(yield* playLogged(groups.play(rollout, mode, prompt), prompt), reward);
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
      yield* groups.confirmFinished(group);
      if (group.heldOut && !repeating.has(prompt.tag)) {
        repeating.add(prompt.tag);
        yield* bus.emit({ _tag: "ValidationRepeated", group: prompt.group, tag: prompt.tag });
      }
      return group;
    },
    (playing, { group, seed, tag }) => groupSpanned(playing, group, { tag, seed }),
  );
  const concurrency = groupsInFlight(config);
  const most = maxPermits(config).rollout ?? null;
  const stage = yield* Stage.flow({ name: "rollout", inbox: 1, concurrency, most, run: play });
  return registry.add(Object.assign(stage, { metrics: groups.metrics }));
});
