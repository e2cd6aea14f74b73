/** Calls of agents of every shape, for what writes and reads them. */
import fc from "fast-check";
import type { AgentCall } from "../../src/domain/AgentCall.ts";
import type { Message } from "../../src/domain/Conversation.ts";
import { forkReasons } from "../../src/domain/forks.ts";

/** Any string, half characters included. */
export const text = fc.string({
  unit: fc.oneof(fc.constantFrom("\ud800", "\0", "__proto__", "ü"), fc.string()),
  maxLength: 8,
});

/** A value that JSON has a word for: it has none for -0. */
const jsonValue: fc.Arbitrary<unknown> = fc
  .jsonValue({ maxDepth: 2 })
  .map((value) => JSON.parse(JSON.stringify(value)));

const toolCalls = fc.array(fc.record({ id: text, name: text, arguments: jsonValue }), { maxLength: 2 });

const message: fc.Arbitrary<Message> = fc.oneof(
  fc.record({ role: fc.constantFrom("system" as const, "user" as const), text }),
  fc.record({ role: fc.constant("assistant" as const), text, calls: toolCalls }),
  fc.record({ role: fc.constant("tool" as const), call: text, text }),
);

/** Any call of an agent, even one of a tree that cannot be. */
export const agentCall: fc.Arbitrary<AgentCall> = fc.record(
  {
    number: fc.nat(),
    parent: fc.option(fc.nat()),
    fork: fc.option(fc.constantFrom(...forkReasons)),
    tools: fc.array(text, { maxLength: 2 }),
    added: fc.array(message, { maxLength: 3 }),
    calls: toolCalls,
    problems: fc.array(text, { maxLength: 2 }),
  },
  { requiredKeys: ["number", "parent", "fork", "added", "calls", "problems"] },
);
