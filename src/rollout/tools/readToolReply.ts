/**
 * Reads a reply with tools: its calls by the model's own template, or an answer where it calls none. Pure.
 * Invariant: what cannot be read, or does not fit its tool, is no action; it becomes a text that the model is shown, and is penalised once.
 */
import type { Span } from "../../domain/Episode.ts";
import type { CallCheck } from "../../env/contract/tools/checkCall.ts";
import { isToolArguments, toolAnswer, toolCall } from "../../env/contract/tools/ToolAction.ts";
import type { ConversationTemplate } from "../../model/tokenizer/conversation/ConversationTemplate.ts";
import type { ReadCall, ReadReply } from "../../model/tokenizer/conversation/readReply.ts";
import type { ParsedReply } from "../parse.ts";
import type { CallRequest, CallRequests, ReplyPosition, ReplyReading } from "../readReply.ts";

export interface ToolReader {
  readonly template: Pick<ConversationTemplate, "read">;
  readonly check: CallCheck;
}

const leadingThought = /^(\s*<think>)([\s\S]*?)<\/think>/;

/** The range between a thought's tags; null where it is empty or not closed. */
const spanOf = (reply: string): Span | null => {
  const [, open = "", thought = ""] = leadingThought.exec(reply) ?? [];
  return thought.trim() === "" ? null : [open.length, open.length + thought.length];
};

/** A reply that was cut, or that does not close its thought, is no answer, whatever it says. */
const unfinished = ({ isCut, limits }: ReplyPosition, reply: string): readonly string[] => {
  if (isCut) return [`the reply was cut after ${limits.response_length} tokens`];
  const isOpen = /^\s*<think>/.test(reply) && !reply.includes("</think>");
  return isOpen ? ["the reply does not close its thought"] : [];
};

const problemsOf = (position: ReplyPosition, reply: string, { calls, problems }: ReadReply): readonly string[] =>
  calls.length > 0 || problems.length > 0 ? problems : unfinished(position, reply);

/** The calls that may be carried out, at most so many of a reply, and the reasons why others may not. */
const judge = (check: CallCheck, calls: readonly ReadCall[], most: number) => {
  const requests: CallRequest[] = [];
  const actions: string[] = [];
  let refused = 0;
  for (const { arguments: values, name } of calls) {
    const reason = check(name, values);
    if (reason !== null) refused++;
    const isOver = actions.length === most;
    const problem = reason === null && isOver ? `not carried out: at most ${most} of a reply are` : reason;
    requests.push({ problem });
    if (problem === null && isToolArguments(values)) actions.push(toolCall(name, values));
  }
  return { requests, actions, refused };
};

/** Reads a reply, its prefix put back and its end token left out. */
export const readToolReply = (
  { check, template }: ToolReader,
  position: ReplyPosition,
  reply: string,
): ReplyReading => {
  const tools = position.task.tools ?? [];
  const read = template.read(reply, tools);
  const problems = problemsOf(position, reply, read);
  const { actions, requests, refused } = judge(check, read.calls, position.limits.max_actions_per_turn);
  const isAnswer = read.calls.length === 0 && problems.length === 0;
  const named = isAnswer ? [toolAnswer(read.text.trim(), tools)] : actions;
  const reading: ParsedReply = {
    parsed: problems.length === 0,
    thought: read.reasoning ?? "",
    span: spanOf(reply),
    actions: named,
    canonical: reply,
  };
  const callRequests: CallRequests = { isAnswer, calls: isAnswer ? [{ problem: null }] : requests, problems };
  return {
    reading,
    actions: named,
    executable: named.slice(0, position.actionsLeft),
    penalised: problems.length > 0 || refused > 0,
    invalid: named.length === 0,
    requests: callRequests,
    info: { total_unread_calls: problems.length, total_refused_calls: refused },
  };
};
