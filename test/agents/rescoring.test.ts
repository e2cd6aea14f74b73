/**
 * The learner scores again what agents sampled. Over every dialect, the recorded log-probabilities are those of the ids that are trained on,
 * behind the ids that they are trained behind. A wrong row of any kind (a lost id, a history rendered anew, another temperature) shows here.
 */
import { join } from "node:path";
import { Effect } from "effect";
import { describe, expect, it } from "vitest";
import type { AgentModel } from "../../src/agents/session/AgentModel.ts";
import { agentModel } from "../../src/agents/session/agentModelOf.ts";
import { type CallTree, callsOf, trainedCalls } from "../../src/agents/tree/CallTree.ts";
import { type TokenBatch, trainedTokens } from "../../src/domain/Batch.ts";
import type { Message, Tool } from "../../src/domain/Conversation.ts";
import { sampledTokens } from "../../src/domain/Episode.ts";
import { type Random, stream } from "../../src/domain/Random.ts";
import { localGenerator } from "../../src/generation/Generator.ts";
import { Policy } from "../../src/generation/Policy.ts";
import { collate } from "../../src/learner/collate.ts";
import { Trainer } from "../../src/learner/Trainer.ts";
import { trainerOptions } from "../../src/learner/TrainerOptions.ts";
import * as Model from "../../src/model/Model.ts";
import { templates } from "../../src/rollout/Rollout.ts";
import { packageRoot } from "../../src/support/files/packageRoot.ts";
import { configWith } from "../build/config.ts";
import { promptOf, scoredGroupOf } from "../build/groups.ts";
import { rollout } from "../rollout/fakes.ts";
import { earned, modeAt, openAgents, type TestAgent } from "./playedAgents.ts";
import { type WireCall, type WireName, wireClient, wireNames } from "./wireForms.ts";

const path = join(packageRoot, "config/models/nano");
const config = configWith({
  model: { path, generator_threads: 1 },
  generation: { slots: 16 },
  rollout: { template: "compact", max_model_len: 512, response_length: 20 },
});

const { prefix } = templates.compact({ think: config.rollout.enable_think, separator: config.rollout.action_sep });

const budget = { calls: 64, contextTokens: config.rollout.max_model_len, replyTokens: config.rollout.response_length };

const tools: readonly Tool[] = [
  { name: "walk", description: "Walks.", parameters: { type: "object", properties: { way: { type: "string" } } } },
];

/** Reads a reply that names a way as a call of the first tool, since the small model writes no calls of itself. */
const callingModel = (model: AgentModel): AgentModel => ({
  ...model,
  read: (sampled, tools, stop) => {
    const reply = model.read(sampled, tools, stop);
    const [tool] = tools;
    if (tool === undefined || !/Up|Down|Left|Right/.test(reply.text)) return reply;
    return { ...reply, text: "", calls: [{ name: tool.name, arguments: { way: reply.text } }] };
  },
});

const system: Message = { role: "system", text: "frozen_lake" };
const user = (text: string): Message => ({ role: "user", text });
const board = (random: Random): Message =>
  user(
    `${Array.from({ length: 4 }, () => Array.from({ length: 4 }, () => random.pick([..."PG_O"])).join("")).join("\n")}\n${random.int(11)}`,
  );

/** Texts that spell tokens of the template. */
const spelled = ["<|assistant|>Up<|im_end|>", "<|user|><|system|>", "<answer>Left</answer><|im_end|>", "<think>"];

/** A conversation up to a reply, and that reply. */
interface Past {
  readonly messages: readonly Message[];
  readonly tools: readonly Tool[];
  readonly id: string;
}

/** A client that appends, forks, asks again, edits, sends calls that nobody sampled, and cuts replies, in one dialect or several. */
const wanderer =
  (names: readonly WireName[], calls: number): TestAgent =>
  async ({ apiKey, endpoint, member, seed }) => {
    const random = stream({ seed, purpose: "play", counters: [member] });
    const ask = wireClient(endpoint, apiKey);
    const pasts: Past[] = [];
    const call = async (messages: readonly Message[], tools: readonly Tool[], more: Partial<WireCall> = {}) => {
      const options = { isStreamed: random.int(2) === 0, ...(random.int(4) === 0 ? { maxTokens: 2 } : {}), ...more };
      const { id, reply } = await ask(random.pick(names), { messages, tools, ...options });
      pasts.push({ messages: [...messages, reply], tools, id });
    };
    /** Goes on from an answer, which a Responses client may name in place of the messages. */
    const goOn = async (past: Past) => {
      const added = answers(past);
      if (!past.id.startsWith("resp_") || random.int(2) === 0) return call([...past.messages, ...added], past.tools);
      const { id, reply } = await ask("responses", { messages: added, tools: past.tools, previous: past.id });
      pasts.push({ messages: [...past.messages, ...added, reply], tools: past.tools, id });
    };
    /** The messages that answer a conversation's last reply. */
    const answers = ({ messages }: Past): readonly Message[] => {
      const last = messages.at(-1);
      const results =
        last?.role === "assistant"
          ? last.calls.map(({ id }): Message => ({ role: "tool", call: id, text: random.pick(["done", ...spelled]) }))
          : [];
      return results.length > 0 && random.int(2) === 0 ? results : [...results, board(random)];
    };
    const opening = (): readonly Message[] => [
      ...(random.int(4) === 0 ? [] : [system]),
      ...(random.int(4) === 0 ? [user(random.pick(spelled))] : []),
      board(random),
    ];
    const moves: readonly (() => Promise<unknown>)[] = [
      // Roots at once.
      () => Promise.all([0, 1].map(() => call(opening(), random.pick([[], tools])))),
      // A history in which nobody sampled the reply.
      () =>
        call(
          [
            system,
            board(random),
            { role: "assistant", text: "", calls: [{ id: "c0", name: "walk", arguments: { way: "Up" } }] },
            { role: "tool", call: "c0", text: "wall" },
          ],
          tools,
        ),
      // Goes on, from any reply: mostly the newest, so that conversations grow.
      ...Array.from({ length: 4 }, () => () => {
        const past = random.int(3) === 0 ? random.pick(pasts) : pasts.at(-1);
        return past === undefined ? call(opening(), []) : goOn(past);
      }),
      // Asks again.
      () => {
        const { messages, tools } = random.pick(pasts);
        return call(messages.slice(0, -1), tools);
      },
      // Changes an earlier message.
      () => {
        const past = random.pick(pasts);
        return call([board(random), ...past.messages.slice(1), ...answers(past)], past.tools);
      },
    ];
    await call(opening(), []);
    for (let at = 0; at < calls; at++) await random.pick(moves)();
    return earned(1);
  };

/** The largest |mu − log p| of the ids that are trained on. */
const largestDifference = ({ mask, mu }: TokenBatch, logp: Float32Array): number =>
  Math.max(
    ...Array.from(mask, (trained, at) =>
      trained === 1 ? Math.abs((mu[at] ?? Number.NaN) - (logp[at] ?? Number.NaN)) : 0,
    ),
  );

const dialectsOf: readonly (readonly WireName[])[] = [...wireNames.map((name) => [name]), wireNames];

describe("every row that agents sampled", () => {
  it.each([1, 0.7])("is scored by the learner as the generator did, at temperature %d", (temperature) =>
    Effect.runPromise(
      Effect.scoped(
        Effect.gen(function* () {
          const model = yield* Model.load(path);
          const policy = yield* localGenerator(config, model, 0);
          const trees: CallTree[] = [];
          const agents = yield* openAgents(
            (order, signal) => wanderer(dialectsOf[order.group] ?? wireNames, 12)(order, signal),
            {
              budget,
              model: callingModel(yield* agentModel(model, prefix)),
              onPlayed: (_, { tree }) => void trees.push(tree),
            },
          );
          const groups = yield* Effect.forEach(
            dialectsOf,
            (_, group) => agents.play(rollout(), modeAt(temperature), promptOf(group, 2, { seed: 40 + group })),
            { concurrency: "unbounded" },
          ).pipe(Effect.provideService(Policy, policy));
          const episodes = groups.flatMap((group) => group.episodes);
          for (const { outcome } of episodes)
            expect(outcome).toMatchObject({ _tag: expect.stringMatching(/Done|Trunc/) });

          const scored = groups.map(({ episodes, prompt }) =>
            scoredGroupOf(
              prompt.group,
              episodes.map((episode) => ({ episode, score: 1 })),
            ),
          );
          const batch = collate(scored, { window: 0, temperature, keptRatio: 1 });
          const { config: decoder, parameters } = model.checkpoint;
          const trainer = yield* Effect.acquireRelease(
            Effect.promise(() => Trainer.open(decoder, parameters, trainerOptions(config))),
            (trainer) => Effect.promise(() => trainer[Symbol.asyncDispose]()),
          );
          const scores = (batch: TokenBatch) => Effect.promise(() => trainer.logp(batch));
          expect(largestDifference(batch, yield* scores(batch))).toBeLessThanOrEqual(1e-4);

          // All that was sampled is trained on, but for repeats that nobody went on from.
          const trained = episodes.reduce((sum, episode) => sum + sampledTokens(episode), 0);
          expect(trainedTokens(batch)).toBe(trained);
          const wrong = largestDifference(batch, yield* scores({ ...batch, temperature: temperature + 0.3 }));
          expect(wrong).toBeGreaterThan(1e-2);

          // The clients did what this is about.
          const nodes = trees.flatMap(({ roots }) => callsOf(roots));
          expect(new Set(nodes.map(({ sampled }) => sampled.finish))).toEqual(new Set(["stop", "length"]));
          expect(nodes.some(({ reply }) => reply.calls.length > 0)).toBe(true);
          expect(nodes.some(({ children }) => children.length > 1)).toBe(true);
          expect(nodes.some(({ added }) => added.some(({ role }) => role === "tool"))).toBe(true);
          expect(nodes.map(({ fork }) => fork)).toEqual(expect.arrayContaining(["edited", "other_agent"]));
          expect(trees.some(({ roots }) => trainedCalls(roots).discarded.length > 0)).toBe(true);
        }),
      ),
    ),
  );
});
