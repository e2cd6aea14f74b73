/** A run's model as agents call it, by the chat template of its folder. */
import { Effect, type Scope } from "effect";
import type { Sampled } from "../../domain/Episode.ts";
import type { CheckpointError } from "../../model/checkpoint/CheckpointError.ts";
import type { Model } from "../../model/Model.ts";
import * as ConversationTemplate from "../../model/tokenizer/conversation/ConversationTemplate.ts";
import { afterReply } from "../../rollout/context.ts";
import type { AgentModel } from "./AgentModel.ts";

/** The text before the first of the stop texts that stand behind `from`. */
const cutAtStop = (text: string, from: number, stops: readonly string[]) => {
  const found = stops.map((stop) => ({ stop, at: text.indexOf(stop, from) })).filter(({ at }) => at >= 0);
  const first = found.toSorted((a, b) => a.at - b.at)[0];
  return first === undefined ? { text, stop: null } : { text: text.slice(0, first.at), stop: first.stop };
};

/** Replies begin with `prefix`, as the run file's template has it. */
export const agentModel = Effect.fnUntraced(function* (
  { chat, tokenizer }: Model,
  prefix: string,
): Effect.fn.Return<AgentModel, CheckpointError, Scope.Scope> {
  const template = yield* ConversationTemplate.make(tokenizer);
  const textOf = ({ ids }: Sampled): string => {
    const last = ids.at(-1);
    const hasEnd = last !== undefined && chat.endIds.includes(last);
    return prefix + tokenizer.decode(hasEnd ? ids.subarray(0, -1) : ids);
  };
  const advice = `set model.path (${tokenizer.path}) to a model that has tools, or describe them in a message`;
  return {
    textOf,
    toolsProblem: template.toolsProblem === undefined ? undefined : `${template.toolsProblem}; ${advice}`,
    opening: (conversation) => template.opening(conversation, prefix),
    bridge: (added, tools) => template.bridge(added, tools, prefix),
    rewriting: (added) => template.rewriting(added, prefix),
    afterReply: (sampled, bridge) => afterReply(chat, sampled, bridge),
    read: (sampled, tools, stops) => {
      const { stop, text } = cutAtStop(textOf(sampled), prefix.length, stops);
      return { ...template.read(text, tools), stop };
    },
  };
});
