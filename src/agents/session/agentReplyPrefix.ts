/** The text that an agent's replies begin with, which is shown to the model and not sampled. Cloned conversations with tools begin alike. */
import type { RunConfig } from "../../config/RunConfig.ts";
import type { Tokenizer } from "../../model/tokenizer/Tokenizer.ts";
import { templates } from "../../rollout/Rollout.ts";

/** The embedded models know replies by the run file's template; a model with a chat template of its own replies as it was trained to. */
export const agentReplyPrefix = (
  { agent, rollout }: Pick<RunConfig, "agent" | "rollout">,
  { chatStyle }: Pick<Tokenizer, "chatStyle">,
): string => {
  const isShown = agent.reply_prefix === "auto" ? chatStyle === "compact" : agent.reply_prefix === "template";
  if (!isShown) return "";
  return templates[rollout.template]({ think: rollout.enable_think, separator: rollout.action_sep }).prefix;
};
