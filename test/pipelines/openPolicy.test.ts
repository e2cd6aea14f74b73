/** A policy that is open for sampling: its replies, and what is said of messages that it cannot answer. */
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { BadInput, type Message, type OpenPolicy, openPolicy, turnsOf } from "../../pipelines/main.ts";
import { packageRoot } from "../../src/support/files/packageRoot.ts";

/** Milliseconds on a machine that others use too. */
const patience = 120_000;

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
    expect((await policy.generate(longer, options)).finishReason).toBe("stop");
  });

  it("cuts a reply at its limit", async () => {
    const { finishReason, ids } = await policy.generate(messages, { ...options, maxTokens: 2 });
    expect([finishReason, ids.length]).toEqual(["length", 2]);
  });

  it.each<[string, readonly Message[], string]>([
    ["none", [], "messages: expected a list of messages"],
    ["the assistant's at the end", [...messages, { role: "assistant", content: "x" }], "the last message is not the"],
    ["two of the user", [...messages, { role: "user", content: "x" }], 'message 3 is of "user", expected assistant'],
  ])("refuses messages: %s", async (_, given, message) => {
    const error = await policy.generate(given, options).catch((cause: unknown) => cause);
    expect(error).toBeInstanceOf(BadInput);
    expect(String(error)).toContain(message);
  });

  it("draws each reply anew without a seed", async () => {
    const { seed: _, ...unseeded } = options;
    const replies = await Promise.all(Array.from({ length: 4 }, () => policy.generate(messages, unseeded)));
    expect(new Set(replies.map(({ text }) => text)).size).toBeGreaterThan(1);
  });

  it("refuses options that cannot be meant, with the nearest name", async () => {
    await expect(policy.generate(messages, { temperature: -1 })).rejects.toThrow(/^temperature: -1: /);
    await expect(policy.generate(messages, Object.assign({}, options, { max_tokens: 8 }))).rejects.toThrow(
      /^max_tokens: .*nearest: maxTokens/,
    );
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

  it("refuses replies once it is closed", async () => {
    const closed = await openPolicy("quickstart");
    await closed.close();
    await expect(closed.generate(messages)).rejects.toThrow(/^the policy is closed$/);
  });

  it("is not opened where there is no model", async () => {
    await expect(openPolicy("runs/none-of-that-name")).rejects.toThrow(BadInput);
  });
});

describe("a policy that is opened under a run file", () => {
  it("begins its replies as episodes do, and is as long as they are by default", async () => {
    await using quickstart = await openPolicy("quickstart");
    const reply = await quickstart.generate(messages, { seed: 7 });
    expect(reply).toEqual(await policy.generate(messages, { ...options, maxTokens: 40 }));
  });

  it("plays the instances of a validation, the same way each time", { timeout: patience }, async () => {
    await using quickstart = await openPolicy("quickstart", { pipeline: { step_threads: 1 } });
    const [episode, again, other] = await Promise.all(
      [123, 123, 124].map((seed) => quickstart.play("FrozenLake", { seed, temperature: 0 })),
    );
    expect(turnsOf(episode!).map(({ reply, state }) => [state, reply])).toEqual(
      turnsOf(again!).map(({ reply, state }) => [state, reply]),
    );
    expect(turnsOf(episode!)[0]?.state).not.toBe(turnsOf(other!)[0]?.state);
    expect(episode!.outcome._tag).not.toBe("Failed");
  });

  it("plays an environment of one's own", { timeout: patience }, async () => {
    const Lamps = new URL("../../docs/examples/environment/lamps.ts", import.meta.url);
    await using quickstart = await openPolicy(
      "quickstart",
      { pipeline: { step_threads: 1 } },
      { environments: { Lamps } },
    );
    const episode = await quickstart.play("Lamps", { seed: 1 });
    expect(turnsOf(episode).length).toBeGreaterThan(0);
    expect(episode.outcome._tag).not.toBe("Failed");
  });

  it("refuses a preset that it does not have", async () => {
    await using quickstart = await openPolicy("quickstart");
    await expect(quickstart.play("FrozenLak")).rejects.toThrow(
      /"FrozenLak" is no preset of custom_envs; nearest: FrozenLake/,
    );
  });
});
