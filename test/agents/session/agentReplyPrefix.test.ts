import { expect, it } from "vitest";
import { agentReplyPrefix } from "../../../src/agents/session/agentReplyPrefix.ts";
import { configWith } from "../../build/config.ts";

it.each([
  ["auto", "compact", "<answer>"],
  ["auto", undefined, ""],
  ["auto", "chatml", ""],
  ["template", undefined, "<answer>"],
  ["none", "compact", ""],
] as const)("begins replies by %s of a model of the form %s with %j", (reply_prefix, chatStyle, prefix) => {
  const config = configWith({ agent: { reply_prefix }, rollout: { enable_think: false } });
  expect(agentReplyPrefix(config, { chatStyle })).toBe(prefix);
});
