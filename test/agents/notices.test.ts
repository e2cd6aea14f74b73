import { assert, it } from "@effect/vitest";
import { Effect, Logger } from "effect";
import { FirstEpisodes, wishNotices } from "../../src/agents/notices.ts";
import type { Episode, Outcome } from "../../src/domain/Episode.ts";

const episode = (outcome: Outcome): Episode => ({
  id: { group: 0, member: 0 },
  tag: "Agent",
  seed: 0,
  sequences: [],
  outcome,
});
const failed = episode({ _tag: "Failed", reason: "agent_error", message: "it broke" });
const done = episode({ _tag: "Done", success: false });

const checkAll = (episodes: readonly Episode[]) => {
  const firsts = new FirstEpisodes();
  return Effect.forEach(episodes, (each) => firsts.check(each), { discard: true });
};

it.effect("ends a run whose first 32 episodes all fail, with the cause", () =>
  Effect.gen(function* () {
    yield* checkAll(Array.from({ length: 31 }, () => failed));
    const error = yield* Effect.flip(checkAll(Array.from({ length: 32 }, () => failed)));
    assert.strictEqual(error.message, "agent: the first 32 episodes all failed, the last by agent_error: it broke");
  }),
);

it.effect("lets a run go on once an episode was played", () =>
  checkAll([done, ...Array.from({ length: 100 }, () => failed)]),
);

it.effect("tells of each wish once, and of five at the most", () =>
  Effect.gen(function* () {
    const lines: unknown[] = [];
    const logger = Logger.make(({ message }) => void lines.push(message));
    const tell = wishNotices();
    const wishes = (...names: readonly string[]) => tell({ ignoredWishes: new Set(names) });
    const all = Effect.forEach([["temperature 0"], ["temperature 0", "top_k 3"], ["a", "b", "c", "d"]], (names) =>
      wishes(...names),
    );
    yield* Effect.provide(all, Logger.layer([logger]));
    assert.deepStrictEqual(
      lines.map((line) => /ask for (.*?);/.exec(String(line))?.[1]),
      ["temperature 0", "top_k 3", "a", "b", "c"],
    );
  }),
);
