/** A policy that is open for sampling: its replies, and what is said of messages that it cannot answer. */
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { BadInput, type Message, type OpenPolicy, openPolicy } from "../../pipelines/main.ts";
import { packageRoot } from "../../src/support/files/packageRoot.ts";

let policy: OpenPolicy;
beforeAll(async () => {
  policy = await openPolicy(join(packageRoot, "config/models/nano"));
});
afterAll(() => policy.close());

const state = "_O__\n____\nOGO_\nO_P_\n10";
const messages: readonly Message[] = [
  { role: "system", content: "frozen_lake" },
  { role: "user", content: state },
];
const options = { prefix: "<think>", maxTokens: 40, seed: 7 };

describe("an open policy", () => {
  it("says the same for the same seed, alone or beside others", async () => {
    const alone = await policy.generate(messages, options);
    const [again, other] = await Promise.all([
      policy.generate(messages, options),
      policy.generate(messages, { ...options, seed: 8 }),
    ]);
    expect(again).toEqual(alone);
    expect(other?.text).not.toBe(alone.text);
    expect(alone.text).toMatch(/^<think>.*<\/think><answer>.*<\/answer>$/);
    expect(alone.logProbs).toHaveLength(alone.ids.length);
  });

  it("goes on with a conversation", async () => {
    const reply = "<think>player 3 2</think><answer>Left</answer>";
    const longer: readonly Message[] = [
      ...messages,
      { role: "assistant", content: reply },
      { role: "user", content: state },
    ];
    expect((await policy.generate(longer, options)).finish).toBe("stop");
  });

  it("cuts a reply at its limit", async () => {
    const { finish, ids } = await policy.generate(messages, { ...options, maxTokens: 2 });
    expect([finish, ids.length]).toEqual(["length", 2]);
  });

  it.each<[string, readonly Message[], string]>([
    ["none", [], "the last message is to be the user's"],
    ["the assistant's at the end", [...messages, { role: "assistant", content: "x" }], "the last message is to be"],
    ["two of the user", [...messages, { role: "user", content: "x" }], "message 3 is of user, expected assistant"],
  ])("refuses messages: %s", async (_, given, message) => {
    const error = await policy.generate(given, options).catch((cause: unknown) => cause);
    expect(error).toBeInstanceOf(BadInput);
    expect(String(error)).toContain(message);
  });

  it("refuses more tokens than the model has positions for", async () => {
    await expect(policy.generate(messages, { maxTokens: 100_000 })).rejects.toThrow(
      /^maxTokens: 100000: .*; nearest: \d+$/,
    );
  });

  it("rejects with the reason of an abort", async () => {
    const abort = AbortSignal.abort(new Error("nobody waits"));
    await expect(policy.generate(messages, { ...options, signal: abort })).rejects.toThrow("nobody waits");
  });

  it("is not opened where there is no model", async () => {
    await expect(openPolicy("runs/none-of-that-name")).rejects.toThrow(BadInput);
  });
});
