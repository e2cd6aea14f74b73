/**
 * Groups that one weights version plays from beginning to end, beside or between those of training. Invariant: no token is sampled by another
 * version, whatever the learner makes meanwhile.
 */
import { Effect } from "effect";
import { isFixedLag } from "../config/fixedLag.ts";
import { cacheRows } from "../config/maxPermits.ts";
import type { RunConfig } from "../config/RunConfig.ts";
import type { Version } from "../domain/Episode.ts";
import type { Group, Prompt } from "../domain/Group.ts";
import { Policy } from "../generation/Policy.ts";
import * as GroupProgram from "./group.ts";
import type { PlayMode, Rollout } from "./Rollout.ts";

export interface PinnedOptions {
  /** Episodes of a group; as many groups are played at once as have a cache row for each. */
  readonly size: number;
  readonly mode: (version: Version) => PlayMode;
  readonly prompts: (version: Version) => readonly Prompt[];
  /** Called with how many groups of how many are done. */
  readonly progress: (done: number, of: number) => Effect.Effect<void>;
}

/**
 * Plays the prompts by the newest version that the generators have, `least` or a newer one; under a fixed lag by `least` itself, which they
 * then keep. Groups come in the order of the prompts.
 */
export const play = (
  config: RunConfig,
  rollout: Rollout,
  least: Version,
  { mode, progress, prompts, size }: PinnedOptions,
) =>
  Effect.scoped(
    Effect.gen(function* () {
      const policy = yield* Policy;
      yield* policy.awaitVersion(least);
      const newest = yield* policy.hold;
      const version = isFixedLag(config) ? least : newest;
      const pinnedPrompts = prompts(version);
      const pinnedMode = mode(version);
      let done = 0;
      const groups: readonly Group[] = yield* Effect.forEach(
        pinnedPrompts,
        (prompt) =>
          Effect.tap(GroupProgram.play(rollout, pinnedMode, prompt), () => progress(++done, pinnedPrompts.length)),
        { concurrency: Math.max(1, Math.floor(cacheRows(config) / size)) },
      );
      return { version, groups };
    }),
  );
