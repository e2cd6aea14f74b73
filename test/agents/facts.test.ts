/** The agent of docs/examples/agents/facts: its tools, its demonstrations, and a few calls over the wire. */

import { describe, expect, it } from "@effect/vitest";
import { Effect, Result } from "effect";
import { demonstration } from "../../docs/examples/agents/facts/demonstrations.ts";
import { drawTask, names, rewardOf, toolsOf } from "../../docs/examples/agents/facts/facts.ts";
import plainAgent from "../../docs/examples/agents/facts/plainAgent.ts";
import { readMessages, readTools } from "../../src/agents/dialects/chat.ts";
import { dialects } from "../../src/agents/dialects/main.ts";
import { agentModel } from "../../src/agents/session/agentModelOf.ts";
import { serveEndpoint } from "../../src/agents/session/endpoint.ts";
import { Sessions } from "../../src/agents/session/Sessions.ts";
import { turnsOf } from "../../src/domain/Episode.ts";
import { stream } from "../../src/domain/Random.ts";
import { Policy } from "../../src/generation/Policy.ts";
import * as Model from "../../src/model/Model.ts";
import * as ConversationTemplate from "../../src/model/tokenizer/conversation/ConversationTemplate.ts";
import { unsampledReply } from "../../src/tools/cloning/Demonstration.ts";
import { checkToolConversation, encodeToolConversation } from "../../src/tools/cloning/ToolConversation.ts";
import { tinyArchitecture } from "../build/tinyConfig.ts";
import { fakePolicy } from "../rollout/fakes.ts";
import { testSession } from "./session/testSession.ts";

/** A demonstration as `sft.conversations` reads it. */
const conversationOf = (seed: number, mistakes: number) => {
  const row = demonstration(seed, mistakes);
  const messages = Result.getOrThrow(readMessages(row.messages, "messages"));
  const targets = new Set(messages.flatMap(({ role }, index) => (role === "assistant" ? [index] : [])));
  const tools = Result.getOrThrow(readTools(row.tools, "tools"));
  return Result.getOrThrow(checkToolConversation({ messages, tools, targets }, "messages"));
};

const seeds = Array.from({ length: 200 }, (_, seed) => seed);

/** The share of demonstrations that end with the right answer. */
const successOf = (mistakes: number): number => {
  const rewards = seeds.map((seed) =>
    rewardOf(drawTask(seed, "demonstration"), conversationOf(seed, mistakes).messages.at(-1)?.text ?? ""),
  );
  return rewards.reduce((sum, reward) => sum + reward, 0) / rewards.length;
};

describe("the task of the facts", () => {
  it("is the same for a seed, and another for each use of it", () => {
    expect(drawTask(7, "train")).toEqual(drawTask(7, "train"));
    const questions = (["train", "val", "demonstration"] as const).map((use) => JSON.stringify(drawTask(7, use)));
    expect(new Set(questions).size).toBe(3);
  });

  it("is solved by its expert, and less often the more the expert errs", () => {
    expect(successOf(0)).toBe(1);
    const [some, many] = [successOf(0.2), successOf(0.6)];
    expect(some).toBeGreaterThan(0.35);
    expect(some).toBeLessThan(0.7);
    expect(many).toBeLessThan(0.25);
  });

  it("looks up what there is, and calculates sums and differences alone", () => {
    const [find, solve] = toolsOf({ facts: { Nurse: 12 } });
    expect(find?.run({ name: " Nurse " })).toBe("12");
    expect(["Pilot", "toString", ""].map((name) => find?.run({ name }))).toEqual(["no", "no", "no"]);
    expect(["12+30", "12 - 30", "7", "1*2", "1+2+3"].map((sum) => solve?.run({ sum }))).toEqual([
      "42",
      "-18",
      "no",
      "no",
      "no",
    ]);
    expect([find?.run({}), solve?.run({})]).toEqual(["no", "no"]);
  });
});

const model = Model.randomModel(tinyArchitecture, stream({ seed: 1, purpose: "initialisation", counters: [] }));

describe("the agent without a client package", () => {
  it.live("has the words of its questions as single tokens of the embedded model", () =>
    Effect.gen(function* () {
      const { tokenizer } = yield* model;
      const words = seeds.slice(0, 20).flatMap((seed) => drawTask(seed, "train").question.split(" "));
      const spelled = words.filter(
        (word) => tokenizer.encode(word).length > 1 && tokenizer.encode(` ${word}`).length > 1,
      );
      expect(spelled).toEqual([]);
      expect(names.map((name) => tokenizer.encode(name).length)).toEqual(names.map(() => 1));
    }),
  );

  it.live("shows and samples over the wire the ids that its demonstrations clone", () =>
    Effect.gen(function* () {
      const template = yield* ConversationTemplate.make((yield* model).tokenizer);
      const encoder = { template, replyPrefix: "<answer>", limit: 320 };
      const { episode } = yield* encodeToolConversation(encoder, conversationOf(3, 0), 0);
      const turns = turnsOf(episode!);
      const fake = fakePolicy((_, turn) => Effect.succeed(unsampledReply(turns[turn - 1]!.sampled.ids)));
      const session = testSession(
        yield* Effect.provide(Effect.service(Policy), fake.layer),
        yield* agentModel(yield* model, "<answer>"),
        { calls: 9, contextTokens: 320, replyTokens: 24 },
      );
      const sessions = new Sessions();
      const { url } = yield* serveEndpoint(dialects, sessions);
      const apiKey = sessions.add(session);
      const episodeOf = {
        baseURL: `${url}/v1`,
        anthropicBaseURL: url,
        apiKey,
        split: "train",
        seed: 3,
        group: 0,
        member: 0,
      } as const;
      const outcome = yield* Effect.promise(async (signal) =>
        plainAgent.run({
          task: drawTask(3, "demonstration"),
          episode: { ...episodeOf, environment: () => Promise.reject(new Error("it has none")) },
          signal,
        }),
      );
      expect(outcome).toEqual({ reward: 1, metrics: { tool_calls: 3 } });
      expect(turns).toHaveLength(4);
      expect(fake.requests.map(({ append }) => append)).toEqual(turns.map(({ prompt }) => prompt));
    }).pipe(Effect.scoped),
  );
});
