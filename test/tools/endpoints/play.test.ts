/** The text-level player beside the token-level one: the same replies give the same chat, the same actions and the same metrics. */
import { it } from "@effect/vitest";
import { Effect, Exit } from "effect";
import { describe, expect } from "vitest";
import { toRecord } from "../../../src/domain/metrics/Metrics.ts";
import * as GroupProgram from "../../../src/rollout/group.ts";
import { type ChatMessage, type ChatReply, EndpointStopped, Unanswered } from "../../../src/tools/endpoints/Chat.ts";
import type { ChatClient } from "../../../src/tools/endpoints/ChatClient.ts";
import { play, replyOf } from "../../../src/tools/endpoints/play.ts";
import { episodesOf } from "../../../src/tools/evaluation/chats.ts";
import type { EvaluatedEpisode } from "../../../src/tools/evaluation/EvaluatedEpisode.ts";
import { metricsOf } from "../../../src/tools/evaluation/metrics.ts";
import { corridor, prompt, reach, rollout, scripted, training } from "../../rollout/fakes.ts";

const validating = { ...training, split: "val" } as const;
const one = { ...prompt, size: 1 };

/** Answers by turn, the last one repeated; keeps what it was shown. */
const client = (...replies: readonly (string | ChatReply | Unanswered | EndpointStopped)[]) => {
  const shown: (readonly ChatMessage[])[] = [];
  const complete: ChatClient["complete"] = (messages) =>
    Effect.suspend(() => {
      shown.push([...messages]);
      const reply = replies[Math.min(shown.length, replies.length) - 1];
      if (reply instanceof Unanswered || reply instanceof EndpointStopped) return Effect.fail(reply);
      if (typeof reply === "object") return Effect.succeed(reply);
      return Effect.succeed({ text: reply ?? "", finish: "stop", usage: { prompt: 20, reply: 4 } } as const);
    });
  const tally = () => ({ requests: shown.length, retries: 0, spent: { prompt: 0, reply: 0 } });
  return { client: { complete, tally, admits: () => true } satisfies ChatClient, shown };
};

const playReplies = (
  replies: readonly (string | ChatReply | Unanswered | EndpointStopped)[],
  environments = corridor(() => 3),
) => {
  const scriptedClient = client(...replies);
  return play(rollout(), scriptedClient.client, one, 0).pipe(
    Effect.map((episode) => ({ episode: episode as EvaluatedEpisode, shown: scriptedClient.shown })),
    Effect.provide(environments.layer),
  );
};

const right = "<think>go</think><answer>Right</answer>";
const both = "<think>go</think><answer>Right || Right</answer>";
const lost = "<think>no</think><answer>Jump</answer>";

describe("an episode of an endpoint", () => {
  it.effect.each([
    { name: "that reaches the end", replies: [right, both] },
    { name: "that ends by its turns", replies: [lost, right, "nothing at all"] },
    { name: "that ends by its actions", replies: ["<think>a</think><answer>Left || Left</answer>"] },
  ])("$name is that of a checkpoint with the same replies", ({ replies }) =>
    Effect.gen(function* () {
      const { episode } = yield* playReplies(replies);
      // A checkpoint samples behind the prefix, so its script leaves the tag out.
      const policy = scripted(...replies.map((reply) => reply.replace("<think>", "")));
      const world = corridor(() => 3);
      const setup = rollout();
      const group = yield* GroupProgram.play(setup, validating, one).pipe(
        Effect.provide(policy.layer),
        Effect.provide(world.layer),
      );
      const view = {
        state: null,
        observation: "at 0 of 3",
        compact: "0/3",
        actions: ["Left", "Right"],
        contentKey: "corridor 3",
      };
      const [token] = episodesOf(group, { template: setup.template, task: reach, view }) as readonly EvaluatedEpisode[];
      const without = (each: EvaluatedEpisode) => ({
        ...each,
        messages: each.messages.map(({ content, role }) => ({
          role,
          content: role === "assistant" ? replyOf("<think>", content) : content,
        })),
        turns: each.turns.map(({ entropy, promptTokens, tokens, ...turn }) => turn),
      });
      expect(without(episode)).toEqual(without(token!));
      const comparable = (each: EvaluatedEpisode) => {
        const all = toRecord(metricsOf([each], { size: 1, failures: 0, endpoint: false, summaries: false }));
        return Object.entries(all).filter(([name]) => !/length|entropy/.test(name));
      };
      expect(comparable(episode)).toEqual(comparable(token!));
      expect(comparable(episode).length).toBeGreaterThan(5);
    }),
  );

  it.effect("is shown its own replies as it wrote them", () =>
    Effect.gen(function* () {
      const reply = "Sure! <think>x</think> <answer>Right</answer> Anything else?";
      const { shown } = yield* playReplies([reply]);
      expect(shown[1]?.map(({ role }) => role)).toEqual(["system", "user", "assistant", "user"]);
      expect(shown[1]?.[2]?.content).toBe(reply);
    }),
  );

  it.effect("is told what a reply earned in the message after it", () =>
    Effect.gen(function* () {
      const { shown } = yield* playReplies([right, both]);
      expect(shown[0]?.at(-1)?.content).not.toContain("Reward:");
      expect(shown[1]?.at(-1)?.content).toMatch(/^Reward:\n-0\.1\n/);
    }),
  );

  it.effect("goes on after a reply that was cut or filtered, which is data", () =>
    Effect.gen(function* () {
      const cut = { text: "<think>so lo", finish: "length", usage: { prompt: 9, reply: 100 } } as const;
      const filtered = { text: "", finish: "filtered", usage: null } as const;
      const { episode } = yield* playReplies([cut, filtered, right]);
      expect(episode.turns.map(({ finish }) => finish)).toEqual(["length", "filtered", "stop"]);
      expect(episode.turns.map(({ penalty }) => penalty)).toEqual([-0.1, -0.1, 0]);
      expect(episode.turns.map(({ tokens }) => tokens)).toEqual([100, null, 4]);
    }),
  );

  it.effect("is truncated where its chat is longer than the model takes", () =>
    Effect.gen(function* () {
      const { episode } = yield* playReplies([right, new Unanswered({ reason: "context", message: "too long" })]);
      expect(episode.outcome).toEqual({ _tag: "Truncated", reason: "context", success: false });
      expect(episode.turns).toHaveLength(1);
    }),
  );

  it.effect("that the endpoint does not answer is not played", () =>
    Effect.gen(function* () {
      const { episode } = yield* playReplies([right, new Unanswered({ reason: "exhausted", message: "status 500" })]);
      expect(episode).toMatchObject({ _tag: "NotPlayed", seed: one.seed, reason: "exhausted", message: "status 500" });
    }),
  );

  it.effect("whose step fails is not played", () =>
    Effect.gen(function* () {
      const broken = { _tag: "StepFailure", reason: "step_error", message: "boom" } as const;
      const { episode } = yield* playReplies(
        [right],
        corridor(
          () => 3,
          (request) => (request === null ? null : broken),
        ),
      );
      expect(episode).toMatchObject({ _tag: "NotPlayed", reason: "step_error", message: "boom" });
    }),
  );

  it.effect("ends the evaluation where nothing more may be asked", () =>
    Effect.gen(function* () {
      const exit = yield* Effect.exit(playReplies([new EndpointStopped({ reason: "budget", message: "spent" })]));
      expect(Exit.isFailure(exit)).toBe(true);
    }),
  );
});

describe("a reply of an endpoint", () => {
  it("is read as it is where it opens the tag, also behind other words", () => {
    for (const text of [right, `Well. ${right}`]) expect(replyOf("<think>", text)).toBe(text);
  });

  it("gets the prefix back where it goes on behind it", () => {
    expect(replyOf("<think>", "go</think><answer>Right</answer>")).toBe(right);
    expect(replyOf("<answer>", "Right</answer>")).toBe("<answer>Right</answer>");
  });
});
