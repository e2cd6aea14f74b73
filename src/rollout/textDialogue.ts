/** The dialogue of text actions: the run's template writes the user's texts, and its grammar reads the answers. */
import { Effect } from "effect";
import { bridge, commonPrefix, openingMessages } from "./context.ts";
import type { ChatOpening, Dialogue, PromptWriter } from "./Dialogue.ts";
import { readReply } from "./readReply.ts";
import type { Task } from "./Task.ts";
import type { TurnState } from "./Template.ts";

/** From this many members on, one prefill of a whole opening costs less than a prefill of each beside a shared system message. */
export const sharingSize = 4;

/**
 * Encodes the opening of a group's episodes, `size` of them. Its shared prefix is all of it where the group is large, else the system
 * message, which other groups show too.
 */
export const openText = (writer: PromptWriter, task: Task, first: TurnState, size: number): ChatOpening => {
  const { chat, template } = writer;
  const { system, user } = openingMessages(writer, task, first);
  const opening = chat.opening(system, user, template.prefix);
  let sharedPrefix = 0;
  if (size >= sharingSize) sharedPrefix = opening.length;
  else if (system !== "") sharedPrefix = commonPrefix(opening, chat.opening(system, "", template.prefix));
  return { system, opening, sharedPrefix };
};

export const textDialogue: Dialogue = {
  prefix: ({ prefix }) => prefix,
  open: (writer, task, first, size) => Effect.sync(() => openText(writer, task, first, size)),
  read: readReply,
  shownAfter: (template, { view }) => template.state(view),
  bridge: (writer, task, sampled, replied, next) =>
    Effect.sync(() =>
      writer.limits.context === "single_turn"
        ? undefined
        : bridge(writer, sampled, writer.template.next(task, next, replied)),
    ),
};
