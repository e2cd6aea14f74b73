import { assert, it } from "@effect/vitest";
import { Effect, Logger } from "effect";
import { AgentNotices, type PlayedSession } from "../../src/agents/notices.ts";
import { CallTree } from "../../src/agents/tree/CallTree.ts";
import type { Tool } from "../../src/domain/Conversation.ts";
import type { Episode, Outcome } from "../../src/domain/Episode.ts";
import { sampled } from "../rollout/fakes.ts";

const episode = (outcome: Outcome): Episode => ({
  ...{ id: { group: 0, member: 0 }, tag: "Agent", seed: 0, sequences: [] },
  outcome,
});
const failedEpisode = episode({ _tag: "Failed", reason: "agent_error", message: "it broke" });
const doneEpisode = episode({ _tag: "Done", success: false });

/** A session of one call, which offers these tools. */
const sessionWith = (tools: readonly Tool[] = [], wishes: readonly string[] = []): PlayedSession => {
  const tree = new CallTree();
  const reply = { role: "assistant", text: "b", calls: [] } as const;
  const placement = tree.place({ messages: [{ role: "user", text: "a" }], tools });
  tree.add(placement, { prompt: new Int32Array(3), sampled: sampled("b"), reply, problems: [] });
  return { tree, limit: null, setupProblem: null, ignoredWishes: new Set(wishes) };
};

/** Warnings after these episodes. */
const linesAfter = (notices: AgentNotices, episodes: readonly (readonly [Episode, PlayedSession])[]) =>
  Effect.gen(function* () {
    const lines: string[] = [];
    const logger = Logger.make(({ message }) => void lines.push(String(message)));
    const all = Effect.forEach(episodes, ([each, session]) => notices.after(each, session), { discard: true });
    yield* Effect.provide(all, Logger.layer([logger]));
    return lines;
  });

const times = (count: number, each: Episode, session = sessionWith()) =>
  Array.from({ length: count }, () => [each, session] as const);

it.effect("end a run whose first 32 episodes all fail, with the cause", () =>
  Effect.gen(function* () {
    const notices = new AgentNotices();
    yield* linesAfter(notices, times(31, failedEpisode));
    const error = yield* Effect.flip(linesAfter(notices, times(1, failedEpisode)));
    assert.strictEqual(error.message, "agent: the first 32 episodes all failed, the last by agent_error: it broke");
  }),
);

it.effect("end a run whose model cannot serve the agent, unless an episode was played before", () =>
  Effect.gen(function* () {
    const unserved = { ...sessionWith(), setupProblem: "the template has no tools" };
    const error = yield* Effect.flip(linesAfter(new AgentNotices(), times(1, failedEpisode, unserved)));
    assert.strictEqual(error.message, "agent: the template has no tools");
    const later = [...times(1, doneEpisode), ...times(1, failedEpisode, unserved)];
    assert.deepStrictEqual(yield* linesAfter(new AgentNotices(), later), []);
  }),
);

it.effect("let a run go on once an episode was played", () =>
  Effect.gen(function* () {
    assert.deepStrictEqual(
      yield* linesAfter(new AgentNotices(), [...times(1, doneEpisode), ...times(99, failedEpisode)]),
      [],
    );
  }),
);

it.effect("say once what keeps the agent from being trained", () =>
  Effect.gen(function* () {
    const withTool = sessionWith([{ name: "search", description: "", parameters: {} }]);
    const lines = yield* linesAfter(new AgentNotices(), times(20, doneEpisode, withTool));
    const finding =
      "no reply called a tool that is offered: a model that does not call tools by itself is shown how first (millrace sft, sft.conversations)";
    assert.deepStrictEqual(lines, [`agent: in its first 8 episodes: ${finding}`]);
    assert.deepStrictEqual(yield* linesAfter(new AgentNotices(), times(20, doneEpisode)), []);
    const byEndpoint = new AgentNotices({ samplingSource: "the endpoint's", isTrainable: false });
    assert.deepStrictEqual(yield* linesAfter(byEndpoint, times(20, doneEpisode, withTool)), []);
  }),
);

it.effect("tell of each wish once, and of five at the most", () =>
  Effect.gen(function* () {
    const wishes = [["temperature 0"], ["temperature 0", "top_k 3"], ["a", "b", "c", "d"]];
    const episodes = wishes.map((names) => [doneEpisode, sessionWith([], names)] as const);
    const lines = yield* linesAfter(new AgentNotices(), episodes);
    assert.deepStrictEqual(
      lines.map((line) => /ask for (.*?);/.exec(line)?.[1]),
      ["temperature 0", "top_k 3", "a", "b", "c"],
    );
  }),
);
