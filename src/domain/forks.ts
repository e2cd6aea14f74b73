/** Reasons for which a call of an agent begins a root of its own beside earlier ones. */
export const forkReasons = [
  "thoughts_stripped",
  "compaction",
  "edited",
  "tools_changed",
  "other_agent",
  "parallel",
  "template",
] as const;

/** The reason why a call begins a root of its own beside earlier ones. */
export type ForkReason = (typeof forkReasons)[number];

/** The reasons in words that follow "begins anew". */
export const forkTexts: Readonly<Record<ForkReason, string>> = {
  thoughts_stripped: "the client leaves thoughts out of the history that it sends back",
  compaction: "the agent shortens its history",
  edited: "the agent changes earlier messages",
  tools_changed: "the agent offers other tools",
  other_agent: "another agent, with a system message or tools of its own",
  parallel: "the agent begins several conversations at once",
  template: "the model's chat template changes earlier messages once others follow",
};
