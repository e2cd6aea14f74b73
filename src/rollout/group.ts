/**
 * One group: a prompt's instance is reset once, and its members are played from there.
 * Invariants: every member starts from the same reset; a group has exactly `size` episodes, failed ones included.
 */
import { Effect } from "effect";
import { type BadInput, EnvironmentError, type PolicyError } from "../domain/Errors.ts";
import type { Group, Prompt } from "../domain/Group.ts";
import { Environments, type StepFailure, type View } from "../env/contract/Environments.ts";
import type { Policy } from "../generation/Policy.ts";
import * as EpisodeProgram from "./episode.ts";
import { instanceKey } from "./keys.ts";
import { failedGroup, playMembers } from "./members.ts";
import type { PlayMode, Rollout } from "./Rollout.ts";
import type { Task } from "./Task.ts";
import { textDialogue } from "./textDialogue.ts";

/** Seeds of a group beyond its own, should instances be excluded, lie this far apart: out of reach of every other group's. */
const seedStride = 2 ** 32;
/** A kind with hardly more instances than are excluded would search forever; after this many it plays what it has, and says so. */
const attempts = 32;

/** Resets the prompt's instance; while it is excluded (`heldOut`), the seed moves on by `seedStride`. */
const reset = Effect.fnUntraced(function* (mode: PlayMode, prompt: Prompt) {
  const environments = yield* Environments;
  for (let attempt = 0; ; attempt++) {
    const seed = prompt.seed + attempt * seedStride;
    const view: View = yield* environments.reset({
      tag: prompt.tag,
      instance: instanceKey(seed),
      split: mode.split,
    });
    const heldOut = mode.isExcluded(view.contentKey);
    if (attempt === attempts - 1 || !heldOut) return { seed, view, heldOut };
  }
});

/** Opens the chats of a prompt's group about an instance. */
const begin = Effect.fnUntraced(function* (rollout: Rollout, task: Task, seed: number, view: View, size: number) {
  const dialogue = rollout.toolDialogues?.get(task.tag) ?? textDialogue;
  const opening = yield* dialogue.open(rollout, task, { view, turn: 1, actionsLeft: task.maxActions }, size);
  const start: EpisodeProgram.EpisodeStart = { task, dialogue, seed, view, ...opening };
  return start;
});

/** Plays a prompt. Fails when an engine does; a tag without a task is an `EnvironmentError`, an agent that plays nothing `BadInput`. */
export const play: (
  rollout: Rollout,
  mode: PlayMode,
  prompt: Prompt,
) => Effect.Effect<Group, BadInput | PolicyError | EnvironmentError, Policy | Environments> = Effect.fnUntraced(
  function* (rollout, mode, prompt) {
    const player = rollout.players?.get(prompt.tag);
    if (player !== undefined) return yield* player(rollout, mode, prompt);
    const task = rollout.tasks.get(prompt.tag);
    if (task === undefined) return yield* new EnvironmentError({ tag: prompt.tag, message: "no such preset" });
    const instance = yield* reset(mode, prompt).pipe(
      Effect.flatMap(({ heldOut, seed, view }) =>
        Effect.map(begin(rollout, task, seed, view, prompt.size), (start) => ({ start, heldOut })),
      ),
      Effect.catchTag("StepFailure", (failure: StepFailure) => Effect.succeed(failure)),
    );
    if ("_tag" in instance) return yield* failedGroup(mode, prompt, instance);
    const { heldOut, start } = instance;
    const { contentKey } = start.view;
    const episodes = yield* playMembers(mode, prompt, (member) =>
      EpisodeProgram.play(rollout, mode, prompt, start, member),
    );
    return { prompt, episodes, contentKey, ...(heldOut ? { heldOut } : {}) };
  },
);
