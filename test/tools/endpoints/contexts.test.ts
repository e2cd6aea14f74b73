/** An endpoint is shown the messages whose ids a local policy is shown, in every context mode. */
import { it } from "@effect/vitest";
import { Effect, Layer } from "effect";
import * as fc from "fast-check";
import { describe, expect } from "vitest";
import { turnsOf } from "../../../src/domain/Episode.ts";
import { toRecord } from "../../../src/domain/metrics/Metrics.ts";
import * as GroupProgram from "../../../src/rollout/group.ts";
import type { Rollout } from "../../../src/rollout/Rollout.ts";
import { type ChatMessage, Unanswered } from "../../../src/tools/endpoints/Chat.ts";
import type { ChatClient } from "../../../src/tools/endpoints/ChatClient.ts";
import { play } from "../../../src/tools/endpoints/play.ts";
import { episodesOf } from "../../../src/tools/evaluation/chats.ts";
import type { EvaluatedEpisode } from "../../../src/tools/evaluation/EvaluatedEpisode.ts";
import { metricsOf } from "../../../src/tools/evaluation/metrics.ts";
import {
  corridor,
  decode,
  type FakePolicy,
  fakePolicy,
  type limits,
  prompt,
  reach,
  rollout,
  sampled,
  training,
} from "../../rollout/fakes.ts";

type Limits = typeof limits;

const one = { ...prompt, size: 1 };
const world = corridor(() => 9);
const prefix = "<think>";

/** One player's episode, and what it was shown before each reply: the text that the fakes' chat template makes of the messages. */
interface Seen {
  readonly episode: EvaluatedEpisode;
  readonly shown: readonly string[];
}

/** Replies of turns and of summaries, by their numbers from 0; both players give the same. */
interface Script {
  readonly turn: (nth: number) => string;
  readonly summary: (nth: number) => string;
}

const script = (...replies: readonly string[]): Script => ({
  turn: (nth) => replies[Math.min(nth, replies.length - 1)] ?? "",
  summary: (nth) => `note ${nth + 1}`,
});

/** The text that the generator had before each reply. */
const histories = ({ log }: FakePolicy): readonly string[] => {
  let open = "";
  return log.flatMap((entry) => {
    if (entry._tag === "Released") {
      open = "";
      return [];
    }
    const history = open + decode(entry.append);
    open = history + entry.reply;
    return [history];
  });
};

/** The episode of a local policy, which writes behind the prefix. */
const local = Effect.fnUntraced(function* (setup: Rollout, { summary, turn }: Script) {
  let [turns, summaries] = [0, 0];
  const policy = fakePolicy(({ key }) =>
    Effect.sync(() => sampled(key.purpose === "summary" ? summary(summaries++) : turn(turns++).slice(prefix.length))),
  );
  const mode = { ...training, split: "val" } as const;
  const group = yield* GroupProgram.play(setup, mode, one).pipe(Effect.provide(Layer.merge(policy.layer, world.layer)));
  const view = {
    state: null,
    observation: "at 0 of 9",
    compact: "0/9",
    actions: ["Left", "Right"],
    contentKey: "corridor 9",
  };
  const [episode] = episodesOf(group, { template: setup.template, task: reach, view });
  const seen: Seen = { episode: episode as EvaluatedEpisode, shown: histories(policy) };
  return { ...seen, turns: turnsOf(group.episodes[0]!) };
});

const marks = { system: "[S]", user: "[U]", assistant: "[A]", tool: "[T]" } as const;
const isSummary = (messages: readonly ChatMessage[]): boolean => messages.at(-1)?.content.endsWith("state") === true;

/** A chat as the fakes' template writes it, up to where a reply begins. */
const written = (messages: readonly ChatMessage[]): string =>
  messages.map(({ content, role }) => `${marks[role]}${content}${role === "assistant" ? "<end>" : ""}`).join("") +
  `[A]${isSummary(messages) ? "" : prefix}`;

/** Ids of such a text: its end tokens are one. */
const lengthOf = (text: string): number => text.replaceAll("<end>", "!").length;

/** The episode of an endpoint that takes chats as long as the local policy's. */
const remote = Effect.fnUntraced(function* (setup: Rollout, { summary, turn }: Script) {
  const { limits } = setup;
  const shown: string[] = [];
  const tokenLimits: (number | undefined)[] = [];
  let [turns, summaries] = [0, 0];
  const complete: ChatClient["complete"] = (messages, { maxTokens } = {}) =>
    Effect.suspend(() => {
      const text = written(messages);
      const room = limits.max_model_len - (maxTokens ?? limits.response_length);
      if (lengthOf(text) > room) return Effect.fail(new Unanswered({ reason: "context", message: "too long" }));
      shown.push(text);
      tokenLimits.push(maxTokens);
      const reply = isSummary(messages) ? summary(summaries++) : turn(turns++);
      return Effect.succeed({ text: reply, finish: "stop", usage: { prompt: 20, reply: 4 } } as const);
    });
  const tally = () => ({ requests: shown.length, retries: 0, spent: { prompt: 0, reply: 0 } });
  const client: ChatClient = { complete, tally, admits: () => true };
  const episode = yield* play(setup, client, one, 0).pipe(Effect.provide(world.layer));
  const seen: Seen = { episode: episode as EvaluatedEpisode, shown };
  return { ...seen, asked: tokenLimits };
});

const compact = (changes: Partial<Limits>): Rollout => rollout({ template: "compact", max_turn: 4, ...changes });

const right = "<think>t</think><answer>Right</answer>";
const left = "<think>t</think><answer>Left || Right</answer>";
const nonsense = "<think>nonsense";

/** Without what only tokens can tell, and without what only an endpoint's episode has. */
const comparable = ({ summaries, turns, ...episode }: EvaluatedEpisode) => ({
  ...episode,
  summaries: summaries.map(({ entropy, promptTokens, tokens, ...rest }) => rest),
  turns: turns.map(({ entropy, promptTokens, shown, tokens, ...rest }) => rest),
});

const same = (local: Seen, remote: Seen): void => {
  expect(remote.shown).toEqual(local.shown);
  expect(comparable(remote.episode)).toEqual(comparable(local.episode));
};

const modes: readonly { readonly name: string; readonly changes: Partial<Limits> }[] = [
  { name: "full", changes: {} },
  ...(["limited_multi_turn", "single_turn"] as const).flatMap((context) =>
    [-1, 1, 2].map((max_context_window) => ({
      name: `${context} with a window of ${max_context_window}`,
      changes: { context, max_context_window },
    })),
  ),
  ...(["facts", "policy"] as const).flatMap((summary) =>
    (["limited_multi_turn", "single_turn"] as const).map((context) => ({
      name: `${context} with a summary (${summary})`,
      changes: { context, max_context_window: 2, summary },
    })),
  ),
  // Room for about two turns.
  ...(["none", "facts", "policy"] as const).map((summary) => ({
    name: `full that drops its oldest turns, with ${summary === "none" ? "no summary" : `a summary (${summary})`}`,
    changes: { overflow: "drop", summary, response_length: 40, max_model_len: 185 } as const,
  })),
  { name: "full that ends where it is too long", changes: { response_length: 40, max_model_len: 150 } },
  {
    name: "single_turn that drops its oldest turns",
    changes: { context: "single_turn", overflow: "drop", response_length: 40, max_model_len: 78 },
  },
];

describe("an endpoint", () => {
  it.effect.each(modes)("is shown in $name what a local policy is shown", ({ changes }) =>
    Effect.gen(function* () {
      const replies = script(right, nonsense, left, right);
      const here = yield* local(compact(changes), replies);
      same(here, yield* remote(compact(changes), replies));
      expect(here.shown.length).toBeGreaterThan(1);
    }),
  );

  it("is shown the same by every mode, window, summary and limit of length", async () => {
    const reply = fc.constantFrom(right, left, nonsense);
    const changes = fc.record({
      context: fc.constantFrom("full" as const, "limited_multi_turn" as const, "single_turn" as const),
      max_context_window: fc.constantFrom(-1, 1, 2, 3),
      overflow: fc.constantFrom("end" as const, "drop" as const),
      summary: fc.constantFrom("none" as const, "facts" as const, "policy" as const),
      max_model_len: fc.constantFrom(90, 120, 150, 185, 220, 300, 10_000),
      response_length: fc.constant(40),
      max_turn: fc.integer({ min: 1, max: 6 }),
    });
    await fc.assert(
      fc.asyncProperty(changes, fc.array(reply, { minLength: 1, maxLength: 6 }), async (limits, replies) => {
        const play = Effect.all([
          local(compact(limits), script(...replies)),
          remote(compact(limits), script(...replies)),
        ]);
        same(...(await Effect.runPromise(play)));
      }),
      { numRuns: 150, seed: 11 },
    );
  });

  it.effect.each(["limited_multi_turn", "single_turn"] as const)(
    "is shown RAGEN's texts in %s as a local policy is",
    (context) =>
      Effect.gen(function* () {
        const setup = rollout({ context, max_context_window: 2, summary: "facts", max_turn: 4 });
        const replies = script(right, nonsense, right);
        const [here, there] = [yield* local(setup, replies), yield* remote(setup, replies)];
        same(here, there);
        expect(there.shown[1]).toContain("at 1 of 9");
      }),
  );

  it.effect("writes its summaries within their own limit, and its episode keeps what was asked and answered", () =>
    Effect.gen(function* () {
      const changes = { context: "limited_multi_turn", max_context_window: 1, summary: "policy" } as const;
      const { asked, episode } = yield* remote(compact({ ...changes, max_turn: 3 }), script(right));
      expect(asked).toEqual([undefined, 20, undefined, 20, undefined]);
      expect(episode.summaries).toEqual([
        {
          asked: "0/9\nRight\nstate",
          text: "note 1",
          sequence: 1,
          finish: "stop",
          promptTokens: 20,
          tokens: 4,
          entropy: null,
        },
        {
          asked: "note 1\n1/9\nRight\nstate",
          text: "note 2",
          sequence: 3,
          finish: "stop",
          promptTokens: 20,
          tokens: 4,
          entropy: null,
        },
      ]);
      expect(episode.turns.map(({ sequence }) => sequence)).toEqual([0, 2, 4]);
    }),
  );

  it.effect("leaves with a turn the messages it was shown, where they are not the episode's own", () =>
    Effect.gen(function* () {
      const { episode } = yield* remote(
        compact({ context: "limited_multi_turn", max_context_window: 2, max_turn: 3 }),
        script(right),
      );
      expect(episode.turns.map(({ shown }) => shown?.map(({ content }) => content))).toEqual([
        undefined,
        undefined,
        ["corridor", "1/9\n3", right, "2/9\n2"],
      ]);
    }),
  );

  it.effect("has the lengths, the turns and the token sequences of a local policy counted alike", () =>
    Effect.gen(function* () {
      const changes = compact({ context: "single_turn", max_context_window: 1, summary: "policy" });
      const names = ["val-env/sequences", "val-env/turns", "val-env/success", "val-env/parsed"];
      const metricsFor = ({ episode }: Seen) => {
        const all = toRecord(metricsOf([episode], { size: 1, failures: 0, endpoint: false, summaries: false }));
        return Object.entries(all).filter(([name]) => names.some((part) => name.startsWith(part)));
      };
      const [here, there] = [yield* local(changes, script(right)), yield* remote(changes, script(right))];
      expect(metricsFor(there)).toEqual(metricsFor(here));
    }),
  );
});
