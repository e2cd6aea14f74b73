/** Calls and sessions of tests that care for a part of them. */
import { Effect } from "effect";
import type { ModelCall } from "../../../src/agents/dialects/Dialect.ts";
import type { AgentModel } from "../../../src/agents/session/AgentModel.ts";
import { type Budget, policySession } from "../../../src/agents/session/PolicyReplies.ts";
import type { Session } from "../../../src/agents/session/Session.ts";
import type { Conversation } from "../../../src/domain/Conversation.ts";
import type { Policy } from "../../../src/generation/Policy.ts";

/** A call that asks for no more than a reply to a conversation. */
export const modelCall = (conversation: Conversation, more: Partial<ModelCall> = {}): ModelCall => ({
  conversation,
  toolChoice: "auto",
  wishes: { stop: [] },
  isStreamed: false,
  hasInstructions: false,
  isUsageStreamed: false,
  model: "policy",
  previous: null,
  ...more,
});

/** A session `e` that samples at temperature 1. Calls draw from the streams of the tree; a line's cache is `firstSequence` plus its number. */
export const testSession = (
  policy: typeof Policy.Service,
  model: AgentModel,
  budget: Budget,
  firstSequence = 0,
): Session =>
  policySession({
    name: "e",
    ...{ policy, model, budget },
    sampling: { temperature: 1, topK: -1, topP: 1 },
    pin: null,
    keyOf: ({ stream }) => ({ seed: 0, purpose: "sampling", counters: [0, 0, stream] }),
    sequenceOf: (line) => firstSequence + line,
    onPolicyFailure: () => Effect.void,
  });
