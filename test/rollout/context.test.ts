import { describe, expect, it } from "@effect/vitest";
import { Effect, Layer } from "effect";
import * as fc from "fast-check";
import { type Episode, sampledTokens, turnsOf } from "../../src/domain/Episode.ts";
import type { GenerateRequest } from "../../src/generation/Policy.ts";
import * as Group from "../../src/rollout/group.ts";
import {
  corridor,
  decode,
  endId,
  type FakePolicy,
  fakePolicy,
  type limits,
  prompt,
  rollout,
  sampled,
  scripted,
  training,
} from "./fakes.ts";
import { keysOf } from "./keysOf.ts";

const right = "t</think><answer>Right</answer>";
const nonsense = "nonsense";
const long = corridor(() => 9);

type Limits = typeof limits;

const play = (policy: FakePolicy, changes: Partial<Limits>, environments = long) =>
  Group.play(rollout({ template: "compact", ...changes }), training, { ...prompt, size: 1 }).pipe(
    Effect.map(({ episodes }) => episodes[0]!),
    Effect.provide(Layer.merge(policy.layer, environments.layer)),
  );

/** Returns the texts that the model read and wrote in each token sequence. */
const texts = ({ sequences }: Episode): readonly string[] =>
  sequences.map(({ turns }) => turns.map((turn) => decode(turn.prompt) + decode(turn.sampled.ids)).join(""));

/** The histories that the generator had before each reply, as the requests and releases tell. */
const histories = (policy: FakePolicy): readonly string[] => {
  const open = new Map<number, string>();
  return policy.log.flatMap((entry) => {
    if (entry._tag === "Released") {
      open.delete(entry.sequence);
      return [];
    }
    const history = (open.get(entry.sequence) ?? "") + decode(entry.append);
    open.set(entry.sequence, history + entry.reply);
    return [history];
  });
};

const sampledIn = (episode: Episode) => turnsOf(episode).map(({ sampled }) => decode(sampled.ids));

describe("the context", () => {
  it.effect("is one chat with every turn by default", () =>
    Effect.gen(function* () {
      const episode = yield* play(scripted(right), {});
      expect(texts(episode)).toEqual([
        `[S]corridor[U]0/9\n4[A]<think>${right}<end>[U]1/9\n3[A]<think>${right}<end>[U]2/9\n2[A]<think>${right}<end>`,
      ]);
    }),
  );

  it.effect("is a chat of the last turns, a token sequence for each turn, in limited_multi_turn", () =>
    Effect.gen(function* () {
      const policy = scripted(right);
      const episode = yield* play(policy, { context: "limited_multi_turn", max_context_window: 2 });
      expect(texts(episode)).toEqual([
        `[S]corridor[U]0/9\n4[A]<think>${right}<end>`,
        `[S]corridor[U]0/9\n4[A]<think>${right}<end>[U]1/9\n3[A]<think>${right}<end>`,
        `[S]corridor[U]1/9\n3[A]<think>${right}<end>[U]2/9\n2[A]<think>${right}<end>`,
      ]);
      // The last reply of each sequence is all that is trained on.
      expect(episode.sequences.map(({ turns }) => turns.length)).toEqual([1, 1, 1]);
      expect(sampledIn(episode)).toEqual(Array(3).fill(`${right}<end>`));
      expect(histories(policy)).toEqual(texts(episode).map((text) => text.slice(0, -`${right}<end>`.length)));
    }),
  );

  it.effect("shows no history with a window of 1", () =>
    Effect.gen(function* () {
      const alone = ["0/9\n4", "1/9\n3", "2/9\n2"].map((text) => `[S]corridor[U]${text}[A]<think>${right}<end>`);
      for (const context of ["limited_multi_turn", "single_turn"] as const) {
        const episode = yield* play(scripted(right), { context, max_context_window: 1 });
        expect(texts(episode)).toEqual(alone);
      }
    }),
  );

  it.effect("is one message that retells the turns before in single_turn", () =>
    Effect.gen(function* () {
      const policy = scripted(right, nonsense, right);
      const episode = yield* play(policy, { context: "single_turn" });
      expect(texts(episode)).toEqual([
        `[S]corridor[U]0/9\n4[A]<think>${right}<end>`,
        `[S]corridor[U]0/9\nRight\n1/9\n3[A]<think>${nonsense}<end>`,
        `[S]corridor[U]0/9\nRight\n1/9\nno\n1/9\n3[A]<think>${right}<end>`,
      ]);
      expect(histories(policy).length).toBe(3);
    }),
  );

  it.effect("holds one sequence of the generator at most, and none in the end", () =>
    Effect.gen(function* () {
      for (const context of ["full", "limited_multi_turn", "single_turn"] as const) {
        const policy = scripted(right);
        yield* play(policy, { context, max_context_window: 2, summary: context === "full" ? "none" : "policy" });
        expect(policy.log.at(-1)?._tag).toBe("Released");
        expect(new Set(policy.requests.map(({ sequence }) => sequence)).size).toBe(1);
      }
    }),
  );

  it.effect("shares the system message of every chat that begins", () =>
    Effect.gen(function* () {
      const policy = scripted(right);
      yield* play(policy, { context: "single_turn" });
      const system = "[S]corridor[U]".length;
      expect(policy.requests.map(({ sharedPrefix }) => sharedPrefix)).toEqual([system, system, system]);
    }),
  );

  it.effect("forces the end token of a cut reply inside a later prompt, too", () =>
    Effect.gen(function* () {
      const cut = fakePolicy(() => Effect.succeed(sampled(right, false)));
      const episode = yield* play(cut, { context: "limited_multi_turn", max_context_window: 2 });
      expect([...episode.sequences[2]!.turns[0]!.prompt].filter((id) => id === endId).length).toBe(1);
      expect(texts(episode)[2]).toContain(`${right}<end>[U]2/9`);
    }),
  );

  it("of limited_multi_turn without a limit has exactly the full mode's ids", async () => {
    const reply = fc.constantFrom(right, nonsense, "t</think><answer>Left || Right</answer>", "<think>");
    await fc.assert(
      fc.asyncProperty(fc.array(reply, { minLength: 1, maxLength: 6 }), fc.boolean(), async (replies, ended) => {
        const turns = { max_turn: replies.length };
        const policy = () =>
          fakePolicy((_, turn) => Effect.succeed(sampled(replies[turn - 1]!, ended || turn % 2 === 0)));
        const playWith = (changes: Partial<Limits>) => Effect.runPromise(play(policy(), { ...turns, ...changes }));
        const [full, limited] = await Promise.all([playWith({}), playWith({ context: "limited_multi_turn" })]);
        const [whole] = texts(full);
        const all = texts(limited);
        expect(all.at(-1)).toBe(whole);
        for (const text of all) expect(whole!.startsWith(text)).toBe(true);
        // Modulo the prompts, the episodes are the same.
        const plain = (episode: Episode) => turnsOf(episode).map((turn) => ({ ...turn, prompt: null }));
        expect(plain(limited)).toEqual(plain(full));
      }),
      { numRuns: 30, seed: 5 },
    );
  });
});

describe("a history that outgrows max_model_len", () => {
  const opening = `[S]corridor[U]0/9\n4[A]<think>`.length;
  const turn = `${right}<end>`.length - "<end>".length + 1;
  const bridge = `[U]1/9\n3[A]<think>`.length;
  /** Room for two turns and their replies, but not three. */
  const room = { max_turn: 4, response_length: 40, max_model_len: opening + turn + bridge + 40 };

  it.effect("ends the episode", () =>
    Effect.gen(function* () {
      const episode = yield* play(scripted(right), room);
      expect(episode.outcome).toMatchObject({ _tag: "Truncated", reason: "context" });
      expect(turnsOf(episode).length).toBe(2);
    }),
  );

  it.effect("goes on in a sequence of the system message and the newest turns that fit, with overflow=drop", () =>
    Effect.gen(function* () {
      const policy = scripted(right);
      const episode = yield* play(policy, { ...room, overflow: "drop" });
      expect(texts(episode)).toEqual([
        `[S]corridor[U]0/9\n4[A]<think>${right}<end>[U]1/9\n3[A]<think>${right}<end>`,
        `[S]corridor[U]1/9\n3[A]<think>${right}<end>[U]2/9\n2[A]<think>${right}<end>`,
        `[S]corridor[U]2/9\n2[A]<think>${right}<end>[U]3/9\n1[A]<think>${right}<end>`,
      ]);
      expect(sampledIn(episode).length).toBe(4);
      expect(episode.outcome).toMatchObject({ reason: "max_actions" });
      for (const history of histories(policy)) expect(history.length).toBeLessThanOrEqual(room.max_model_len - 40 + 12);
    }),
  );

  it.effect("drops the oldest turns that a turn-level prompt would show", () =>
    Effect.gen(function* () {
      const drop = { ...room, overflow: "drop" } as const;
      const limited = yield* play(scripted(right), { ...drop, context: "limited_multi_turn" });
      expect(texts(limited).at(-1)).toBe(`[S]corridor[U]2/9\n2[A]<think>${right}<end>[U]3/9\n1[A]<think>${right}<end>`);
      const single = yield* play(scripted(right), {
        ...drop,
        context: "single_turn",
        max_model_len: `[S]corridor[U]0/9\nRight\n1/9\n3[A]<think>`.length + 40,
      });
      expect(texts(single).at(-1)).toBe(`[S]corridor[U]2/9\nRight\n3/9\n1[A]<think>${right}<end>`);
    }),
  );

  it.effect("ends the episode where not even the turn itself fits", () =>
    Effect.gen(function* () {
      const episode = yield* play(scripted(right), { ...room, max_model_len: 50, overflow: "drop" });
      expect(episode.outcome).toMatchObject({ _tag: "Truncated", reason: "context" });
      expect(episode.sequences).toEqual([{ turns: [] }]);
    }),
  );
});

describe("a summary of the turns out of sight", () => {
  const window = { context: "limited_multi_turn", max_context_window: 1 } as const;
  /** Turns are answered by `right`, summaries by their number. */
  const writing = () => {
    let summaries = 0;
    return fakePolicy(({ key }: GenerateRequest) =>
      Effect.succeed(sampled(key.purpose === "summary" ? `note ${++summaries}` : right)),
    );
  };

  it.effect("is made of facts", () =>
    Effect.gen(function* () {
      const episode = yield* play(scripted(right), { ...window, summary: "facts" });
      expect(texts(episode)).toEqual([
        `[S]corridor[U]0/9\n4[A]<think>${right}<end>`,
        `[S]corridor[U]Right\n1/9\n3[A]<think>${right}<end>`,
        `[S]corridor[U]Right || Right\n2/9\n2[A]<think>${right}<end>`,
      ]);
    }),
  );

  it.effect("is written by the policy from its last one and the turns since, as a sequence of its own", () =>
    Effect.gen(function* () {
      const policy = writing();
      const episode = yield* play(policy, { ...window, summary: "policy" });
      expect(texts(episode)).toEqual([
        `[S]corridor[U]0/9\n4[A]<think>${right}<end>`,
        `[S]corridor[U]0/9\nRight\nstate[A]note 1<end>`,
        `[S]corridor[U]note 1\n1/9\n3[A]<think>${right}<end>`,
        `[S]corridor[U]note 1\n1/9\nRight\nstate[A]note 2<end>`,
        `[S]corridor[U]note 2\n2/9\n2[A]<think>${right}<end>`,
      ]);
      expect(episode.sequences.map(({ summary }) => summary)).toEqual([
        undefined,
        { trained: false },
        undefined,
        { trained: false },
        undefined,
      ]);
      expect(turnsOf(episode).length).toBe(3);
      expect(sampledTokens(episode)).toBe(3 * (right.length + 1) + 2 * "note 1.".length);
    }),
  );

  it.effect("is drawn from a stream of its own, within its own limit", () =>
    Effect.gen(function* () {
      const policy = writing();
      yield* play(policy, { ...window, summary: "policy", train_summary: true });
      expect(keysOf(policy)).toEqual([
        "sampling 3.0.1",
        "summary 3.0.1",
        "sampling 3.0.2",
        "summary 3.0.2",
        "sampling 3.0.3",
      ]);
      expect(policy.requests.map(({ maxTokens }) => maxTokens)).toEqual([100, 20, 100, 20, 100]);
    }),
  );

  it.effect("keeps the last one where the turns since do not fit", () =>
    Effect.gen(function* () {
      const policy = writing();
      const promptLength = `[S]corridor[U]note 1\n1/9\nRight\nstate[A]`.length;
      const tight = { ...window, summary: "policy", response_length: 5, max_model_len: promptLength + 19 } as const;
      const episode = yield* play(policy, tight);
      expect(texts(episode).at(-1)).toBe(`[S]corridor[U]note 1\n2/9\n2[A]<think>${right}<end>`);
    }),
  );
});
