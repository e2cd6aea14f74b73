import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { read, write } from "../../../src/tools/evaluation/EpisodeLine.ts";
import type { EvaluatedEpisode } from "../../../src/tools/evaluation/EvaluatedEpisode.ts";
import { agentCall } from "../../build/agentCalls.ts";
import { assertProperty } from "../../property.ts";
import { episode, turn } from "./made.ts";

const number = fc.double({ noNaN: true, noDefaultInfinity: true }).map((value) => (Object.is(value, -0) ? 0 : value));
const count = fc.nat(1_000);
const replied = {
  finish: fc.constantFrom("stop" as const, "length" as const, "filtered" as const),
  promptTokens: fc.option(count),
  tokens: fc.option(count),
  entropy: fc.option(number),
  sequence: fc.nat(9),
};
const anyMessages = fc.array(
  fc.record({
    role: fc.constantFrom("system" as const, "user" as const, "assistant" as const),
    content: fc.string({ unit: "binary" }),
  }),
);
const anyTurn = fc.record(
  {
    actions: fc.array(fc.string()),
    executed: count,
    reward: number,
    penalty: number,
    parsed: fc.boolean(),
    info: fc.dictionary(fc.constantFrom("a", "final_b", "total_c"), number),
    ...replied,
    state: fc.string(),
    penalties: fc.dictionary(fc.constantFrom("format", "step", "thought_length"), number),
    shown: anyMessages,
    call: agentCall,
  },
  {
    noNullPrototype: true,
    requiredKeys: [
      "actions",
      "executed",
      "reward",
      "penalty",
      "parsed",
      "info",
      "state",
      "finish",
      "promptTokens",
      "tokens",
      "entropy",
      "sequence",
    ],
  },
);
const outcome: fc.Arbitrary<EvaluatedEpisode["outcome"]> = fc.oneof(
  fc.record({ _tag: fc.constant("Done" as const), success: fc.boolean() }),
  fc.record({
    _tag: fc.constant("Truncated" as const),
    reason: fc.constantFrom("environment", "max_actions", "max_turn", "context"),
    success: fc.boolean(),
  }),
);
const anyEpisode: fc.Arbitrary<EvaluatedEpisode> = fc.record({
  group: count,
  member: fc.nat(3),
  tag: fc.string(),
  seed: count,
  contentKey: fc.string(),
  outcome,
  messages: anyMessages,
  turns: fc.array(anyTurn, { maxLength: 4 }),
  summaries: fc.array(fc.record({ asked: fc.string(), text: fc.string(), ...replied }), { maxLength: 2 }),
  final: fc.string(),
});

describe("a line of episodes.jsonl", () => {
  it("reads back to the same episode", () => {
    assertProperty(
      fc.property(anyEpisode, (one) => {
        const text = JSON.stringify(write(one, 4));
        expect(text).not.toContain("\n");
        expect(read(text)).toEqual(JSON.parse(JSON.stringify(one)));
      }),
    );
  });

  it("is read where it was written before states and sequences were recorded", () => {
    const { turns, ...line } = write(episode(), 1);
    const older = turns.map(({ sequence, state, ...rest }) => rest);
    const recorded = episode();
    expect(read(JSON.stringify({ ...line, turns: older }))).toEqual({
      ...recorded,
      turns: recorded.turns.map((each) => ({ ...each, state: "" })),
    });
  });

  it("has OpenAI's messages and RAGEN's metadata", () => {
    const { custom_id, messages, metadata } = write(episode({ group: 3, member: 1 }), 4);
    expect(custom_id).toBe("FrozenLake-123-1");
    expect(messages.map(({ role }) => role)).toEqual(["system", "user", "assistant", "user", "assistant"]);
    expect(metadata).toMatchObject({
      env_id: 13,
      group_id: 3,
      num_turns: 2,
      total_reward: 0.9,
      success: true,
      "FrozenLake/action_is_effective": 1,
    });
  });

  it("says success where the episode succeeded, and only there", () => {
    const failed = episode({ outcome: { _tag: "Truncated", reason: "max_turn", success: false } });
    expect(write(failed, 1).metadata).toMatchObject({ success: false, outcome: "max_turn" });
  });

  it("has a reward for each reply, in order", () => {
    expect(write(episode({ turns: [turn({ reward: -0.1 }), turn({ reward: 1 })] }), 1).metadata.rewards).toEqual([
      -0.1, 1,
    ]);
  });

  it("is nothing where it is no episode", () => {
    for (const text of ["", "{", "{}", '{"messages":[]}', "null"]) expect(read(text)).toBe(null);
  });
});
