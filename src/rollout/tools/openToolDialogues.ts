/**
 * The dialogues of a run's tasks that offer tools, made once. What means nothing with tools is refused by name, and so is a model whose chat
 * template cannot show them.
 */
import { Effect, type Scope } from "effect";
import { problemIf } from "../../config/checks/Check.ts";
import type { RunConfig } from "../../config/RunConfig.ts";
import { listProblems } from "../../config/show.ts";
import { BadInput } from "../../domain/Errors.ts";
import * as ConversationTemplate from "../../model/tokenizer/conversation/ConversationTemplate.ts";
import type { Tokenizer } from "../../model/tokenizer/Tokenizer.ts";
import type { ToolDialogue } from "../Dialogue.ts";
import type { Task } from "../Task.ts";
import { replyPrefix } from "../Template.ts";
import { toolDialogue } from "./toolDialogue.ts";

/** Keys whose values mean nothing to `tag`, which offers tools. */
const meaningless = ({ es_manager, rollout }: RunConfig, tag: string, hasTextActions: boolean): readonly string[] => {
  const { action_sep, context, overflow } = rollout;
  const { think_coord_fmt_penalty: coordinates } = es_manager;
  const because = `${tag} offers tools, whose calls and results stand in one chat`;
  return [
    ...problemIf(context !== "full", () => `rollout.context: ${context}: ${because}; nearest: full`),
    ...problemIf(overflow !== "end", () => `rollout.overflow: ${overflow}: ${because}; nearest: end`),
    ...problemIf(
      coordinates > 0,
      () => `es_manager.think_coord_fmt_penalty: ${coordinates}: ${tag} offers tools and has no grid; nearest: 0`,
    ),
    ...problemIf(
      action_sep !== "||" && !hasTextActions,
      () => `rollout.action_sep: ${JSON.stringify(action_sep)}: calls of tools are not separated by it; nearest: "||"`,
    ),
  ];
};

/** The beginning of replies: the thought that is asked for, or the answer's tag where the short form of the small model has one. */
const prefixOf = ({ rollout }: RunConfig, { chatStyle }: Pick<Tokenizer, "chatStyle">): string =>
  rollout.enable_think || chatStyle === "compact" ? replyPrefix(rollout.enable_think) : "";

/** Dialogues by tag. The folder's own template runs in a process that lives as long as the scope. */
export const openToolDialogues = Effect.fnUntraced(function* (
  config: RunConfig,
  tasks: readonly Task[],
  tokenizer: Tokenizer,
): Effect.fn.Return<ReadonlyMap<string, ToolDialogue>, BadInput, Scope.Scope> {
  const offering = tasks.filter(({ tools }) => tools !== undefined);
  const [first] = offering;
  if (first === undefined) return new Map();
  const problems = meaningless(config, first.tag, offering.length < tasks.length);
  if (problems.length > 0) return yield* new BadInput({ message: listProblems(problems) });
  const unusable = (reason: string) =>
    new BadInput({ message: `custom_envs.${first.tag}: it offers tools to the model of model.path: ${reason}` });
  const conversation = yield* Effect.mapError(ConversationTemplate.make(tokenizer), ({ message }) => unusable(message));
  if (conversation.toolsProblem !== undefined) return yield* unusable(conversation.toolsProblem);
  const prefix = prefixOf(config, tokenizer);
  return new Map(offering.map((task) => [task.tag, toolDialogue(conversation, task, prefix)]));
});
