/**
 * The dialogue of tools: the model's own template shows the tools, the calls and their results, and reads calls from replies. The first message
 * of the user is the state's text.
 */
import { Effect } from "effect";
import type { AssistantMessage, Message } from "../../domain/Conversation.ts";
import type { StepFailure } from "../../env/contract/Environments.ts";
import { stepFailure } from "../../env/contract/Request.ts";
import { callCheck } from "../../env/contract/tools/checkCall.ts";
import { readAction } from "../../env/contract/tools/ToolAction.ts";
import type { ConversationTemplate } from "../../model/tokenizer/conversation/ConversationTemplate.ts";
import { afterReply, commonPrefix } from "../context.ts";
import type { ToolDialogue } from "../Dialogue.ts";
import type { Task } from "../Task.ts";
import { replyPrefix, type Template, type TurnState } from "../Template.ts";
import { sharingSize } from "../textDialogue.ts";
import { readToolReply } from "./readToolReply.ts";
import { toolMessages } from "./toolMessages.ts";

const thoughtPrefix = replyPrefix(true);

/** A sentence of a template that cannot write a message, as the failure of the episode that it belongs to. */
const asFailure = <A>(rendering: Effect.Effect<A, string>): Effect.Effect<A, StepFailure> =>
  Effect.mapError(rendering, (reason) => stepFailure("step_error", reason));

/** The messages before the first reply. */
export const openingMessagesOf = (template: Template, task: Task, first: TurnState): readonly Message[] => {
  const { system } = template.opening(task, first);
  const user: Message = { role: "user", text: template.state(first.view) };
  return system === "" ? [user] : [{ role: "system", text: system }, user];
};

/** A reply that takes actions: its calls, or the text of its answer. */
const replyOf = ({ tools = [] }: Task, actions: readonly string[]): AssistantMessage => {
  const read = actions.map((action) => readAction(action, tools));
  const text = read.flatMap((action) => (action._tag === "Answer" ? [action.text] : [])).join("\n");
  const calls = read.flatMap((action, at) =>
    action._tag === "Call" ? [{ id: `call_${at}`, name: action.name, arguments: action.arguments }] : [],
  );
  return { role: "assistant", text, calls };
};

/** The dialogue of `task`, whose replies begin with `prefix`. */
export const toolDialogue = (conversation: ConversationTemplate, task: Task, prefix: string): ToolDialogue => {
  const tools = task.tools ?? [];
  const reader = { template: conversation, check: callCheck(tools) };
  const render = (messages: readonly Message[]) => asFailure(conversation.opening({ tools, messages }, prefix));
  return {
    prefix: () => prefix,
    open: Effect.fnUntraced(function* ({ template }, _task, first, size) {
      const messages = openingMessagesOf(template, task, first);
      const { system } = template.opening(task, first);
      const opening = yield* render(messages);
      if (size >= sharingSize) return { system, opening, sharedPrefix: opening.length };
      const others = yield* render([...messages.slice(0, -1), { role: "user", text: "" }]);
      return { system, opening, sharedPrefix: commonPrefix(opening, others) };
    }),
    read: (position, reply) => readToolReply(reader, position, reply),
    shownAfter: (_template, replied) =>
      toolMessages(replied, 0)
        .map(({ text }) => text)
        .join("\n"),
    bridge: ({ chat }, _task, sampled, replied, next) => {
      const added = toolMessages(replied, next.turn - 1);
      return Effect.map(asFailure(conversation.bridge(added, tools, prefix)), (ids) => afterReply(chat, sampled, ids));
    },
    write: Effect.fnUntraced(function* ({ chat, decode }, actions, thought) {
      const user: Message = { role: "user", text: "" };
      const before = yield* conversation.opening({ tools, messages: [user] }, prefix);
      const whole = yield* conversation.opening({ tools, messages: [user, replyOf(task, actions), user] }, prefix);
      const from = commonPrefix(before, whole);
      const text = decode(whole.subarray(from, whole.indexOf(chat.endId, from)));
      return prefix === thoughtPrefix ? `${thought}</think>${text}` : text;
    }),
  };
};
