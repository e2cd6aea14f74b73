/**
 * Demonstrations of environments with tools: a solver or an adviser calls the tools, and the rollout plays its replies as if they had been
 * sampled. A demonstration is a pure function of (run seed, source, number).
 * Invariant: its turns took the actions that were meant; a reply that reads otherwise is refused.
 */
import { isDeepStrictEqual } from "node:util";
import { Context, Effect } from "effect";
import type { Tool } from "../../domain/Conversation.ts";
import { type Episode, turnsOf } from "../../domain/Episode.ts";
import { PolicyError } from "../../domain/Errors.ts";
import { Environments, type StepFailure, type View } from "../../env/contract/Environments.ts";
import { stepFailure } from "../../env/contract/Request.ts";
import { readAction } from "../../env/contract/tools/ToolAction.ts";
import { answer } from "../../env/pool/answer.ts";
import { type GenerateRequest, Policy } from "../../generation/Policy.ts";
import type { ToolDialogue } from "../../rollout/Dialogue.ts";
import * as EpisodeProgram from "../../rollout/episode.ts";
import type { PlayMode } from "../../rollout/Rollout.ts";
import { type Demonstrator, planOf, type Refusal, type Source, unsampledReply } from "./Demonstration.ts";

/** The next reply's actions of a plan: an answer alone, or as many calls as a reply may have before one. */
const firstReply = (plan: readonly string[], tools: readonly Tool[], most: number): readonly string[] => {
  const calls = plan.findIndex((action) => readAction(action, tools)._tag === "Answer");
  return calls === 0 ? plan.slice(0, 1) : plan.slice(0, Math.min(most, calls < 0 ? plan.length : calls));
};

/** Ends a demonstration whose source has nothing more to play; it is nobody's failure. */
const exhausted = new PolicyError({ reason: "session_failed", message: "the source has no plan" });

/** An episode of a source while it is played. */
interface ToolEpisode {
  readonly demonstrator: Demonstrator;
  readonly source: Source;
  readonly dialogue: ToolDialogue;
  /** The view before the next reply. */
  view: View;
  /** The actions of each reply so far. */
  readonly meant: (readonly string[])[];
}

/** Writes the reply to the present view. Fails where there is no plan, and where the reply is longer than one may be. */
const writeReply = Effect.fnUntraced(function* (episode: ToolEpisode, { maxTokens }: GenerateRequest) {
  const { demonstrator, dialogue, meant, source, view } = episode;
  const { rollout, tokenizer } = demonstrator;
  const { environment, player, task } = source;
  const plan = (player === "solver" ? planOf(environment, view.state) : null) ?? [];
  const actions = firstReply(plan, task.tools ?? [], rollout.limits.max_actions_per_turn);
  if (actions.length === 0) return yield* exhausted;
  const thought = environment.thought(view.state, plan);
  const text = yield* Effect.mapError(dialogue.write(rollout, actions, thought), () => exhausted);
  const ids = Int32Array.of(...tokenizer.encode(text), rollout.chat.endId);
  if (ids.length > maxTokens) return yield* exhausted;
  meant.push(actions);
  return unsampledReply(ids);
});

/** The policy that replies by the source's plans. */
const policyOf = (episode: ToolEpisode): typeof Policy.Service =>
  Policy.of({
    generate: (request) => writeReply(episode, request),
    release: () => Effect.void,
    version: Effect.succeed(0),
    hold: Effect.succeed(0),
    awaitVersion: () => Effect.void,
    gauges: Effect.die("a demonstration has no generator"),
  });

/** Steps of the source's environment, which renew the view. */
const environmentsOf = (episode: ToolEpisode): typeof Environments.Service => {
  const { environment, task } = episode.source;
  const bound = new Map([[task.tag, environment]]);
  return Environments.of({
    reset: () => Effect.die("a demonstration is reset before it is played"),
    step: (step) =>
      Effect.suspend(() => {
        const given = answer(bound, { _tag: "Step", step });
        if (given._tag === "StepFailure") return Effect.fail(given);
        if (given._tag === "View") return Effect.die("a step was answered by a reset");
        episode.view = given.result.view;
        return Effect.succeed(given.result);
      }),
    release: () => Effect.void,
  });
};

const mode: PlayMode = {
  split: "train",
  sampling: { temperature: 1, topK: -1, topP: 1 },
  pin: null,
  isExcluded: () => false,
  wrapEpisode: (episode) => episode,
};

/** The episode, unless a step of it failed or a reply reads as something else than it meant. */
const checked = (episode: Episode, meant: ToolEpisode["meant"]): Episode | StepFailure | Refusal => {
  const { outcome } = episode;
  if (outcome._tag === "Failed") return stepFailure(outcome.reason, outcome.message);
  const wrong = turnsOf(episode).findIndex(({ actions }, at) => !isDeepStrictEqual(actions, meant[at]));
  if (wrong < 0) return episode;
  const read = turnsOf(episode)[wrong]?.actions.join(", ");
  return { _tag: "Refusal", message: `a reply with the actions ${meant[wrong]?.join(", ")} reads as ${read}` };
};

/** Episode `number` of a source; null where its instance is excluded, or the source cannot play it to an end. */
export const demonstrateTools = Effect.fnUntraced(function* (
  demonstrator: Demonstrator,
  source: Source,
  dialogue: ToolDialogue,
  number: number,
) {
  const { rollout, seed } = demonstrator;
  const { environment, task } = source;
  const instance = { seed, purpose: "cloning", counters: [number, 0] } as const;
  const bound = new Map([[task.tag, environment]]);
  const reset = answer(bound, { _tag: "Reset", reset: { tag: task.tag, instance, split: "train" } });
  if (reset._tag === "StepFailure") return reset;
  if (reset._tag !== "View" || demonstrator.excluded(reset.view.contentKey)) return null;
  const { view } = reset;
  const episode: ToolEpisode = { demonstrator, source, dialogue, view, meant: [] };
  const prompt = { group: number, tag: task.tag, seed: number, size: 1, admittedAt: 0 };
  const services = Context.make(Policy, policyOf(episode)).pipe(Context.add(Environments, environmentsOf(episode)));
  return yield* dialogue.open(rollout, task, { view, turn: 1, actionsLeft: task.maxActions }, 1).pipe(
    Effect.flatMap((opening) => {
      const start = { task, dialogue, seed: number, view, ...opening };
      return EpisodeProgram.play({ ...rollout, seed }, mode, prompt, start, 0);
    }),
    Effect.map((finished) => checked(finished, episode.meant)),
    Effect.provideContext(services),
    Effect.catchTags({
      StepFailure: (failure: StepFailure) => Effect.succeed(failure),
      PolicyError: () => Effect.succeed(null),
      EnvironmentError: ({ message }) => Effect.succeed(stepFailure("step_error", message)),
    }),
  );
});
