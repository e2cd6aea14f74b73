/** Episodes of agents whose replies a server samples: each kind of server gets the ids of the path, and what it sampled is what is trained. */
import { describe, expect, it } from "@effect/vitest";
import { Effect } from "effect";
import { agentModel } from "../../src/agents/session/agentModelOf.ts";
import type { Conversation, Message } from "../../src/domain/Conversation.ts";
import { tinkerGenerator } from "../../src/engine/tinkerGenerator.ts";
import * as Servers from "../../src/flow/Servers.ts";
import type { Generator } from "../../src/generation/Generator.ts";
import { Policy } from "../../src/generation/Policy.ts";
import { collate } from "../../src/learner/collate.ts";
import { configWith } from "../build/config.ts";
import { promptOf, scoredGroupOf } from "../build/groups.ts";
import { trainerOptions } from "../learner/model.ts";
import { type engines, fakeOf, model, serversConfig, startGenerator } from "../remote/generation/startGenerator.ts";
import { fakeTinker, json, type Script } from "../remote/tinker/FakeTinker.ts";
import { rollout } from "../rollout/fakes.ts";
import { earned, modeAt, openAgents, type TestAgent } from "./playedAgents.ts";
import { wireClient } from "./wireForms.ts";

const encode = (text: string): readonly number[] => Array.from(model.tokenizer.encode(text));
const [stopId = -1] = model.stopIds;
const prefix = "<answer>";

/** A reply as a server samples it: its ids, and what the server samples behind the reply's end. */
interface ServedReply {
  readonly ids: readonly number[];
  readonly surplus: readonly number[];
}

/** The first ends by a stop text, so that an end token nobody sampled follows; the second by an end token. */
const replies: readonly ServedReply[] = [
  { ids: encode("Up</answer>"), surplus: [41, 42] },
  { ids: [...encode("Down"), stopId], surplus: [43] },
];

/** Log-probabilities that float32 holds exactly, other ones for each reply. */
const logprobsOf = (reply: number, length: number): readonly number[] =>
  Array.from({ length }, (_, at) => -(1 + at + 100 * reply) / 8);

const served = (reply: number) => {
  const { ids, surplus } = replies[reply] ?? { ids: [], surplus: [] };
  const all = [...ids, ...surplus];
  return { ids: all, logprobs: logprobsOf(reply, all.length) };
};

const question: readonly Message[] = [
  { role: "system", text: "frozen_lake" },
  { role: "user", text: "PG_O" },
];
const result: Message = { role: "user", text: "OGP_" };

/** Makes two calls, of which the second extends the first. */
const agent: TestAgent = async ({ apiKey, endpoint }) => {
  const ask = wireClient(endpoint, apiKey);
  const { reply } = await ask("chat", { messages: question });
  await ask("chat", { messages: [...question, reply, result] });
  return earned(1);
};

/** A generator over a server, and the prompts that the server got. */
interface ServedGenerator {
  readonly generator: Generator;
  readonly prompts: readonly (readonly number[])[];
}

const overServer = Effect.fnUntraced(function* (engine: (typeof engines)[number]) {
  const prompts: (readonly number[])[] = [];
  const server = yield* fakeOf(engine, {
    script: ({ ids, nth }) => {
      prompts.push(ids);
      return served(nth);
    },
  });
  const { generator } = yield* startGenerator(serversConfig([server.url], { engine }));
  const result: ServedGenerator = { generator, prompts };
  return result;
});

const overTinker = Effect.gen(function* () {
  const prompts: (readonly number[])[] = [];
  const script: Script = ({ body, nth, path }, response) => {
    if (path === "asample") {
      prompts.push(body.prompt.chunks[0].tokens);
      return json(response, 200, { request_id: `sample-${nth}` });
    }
    if (path !== "retrieve_future" || !String(body.request_id).startsWith("sample-")) return false;
    const { ids, logprobs } = served(Number(body.request_id.slice("sample-".length)));
    return json(response, 200, { sequences: [{ tokens: ids, logprobs, stop_reason: "length" }] });
  };
  const server = yield* fakeTinker({ actor: trainerOptions.actor, script });
  const learner = { engine: "tinker", url: server.url, server: "other", sessions: "newest" };
  const config = configWith({
    model: { generator: { engine: "tinker" }, learner },
    generation: { stop: ["</answer>"] },
  });
  const generator = yield* Effect.provideService(tinkerGenerator(config, model), Servers.Servers, Servers.make());
  generator.ports[0]?.postMessage({ _tag: "weights", version: 0, payload: { _tag: "remote", id: "s0" } });
  yield* generator.awaitVersion(0);
  const result: ServedGenerator = { generator, prompts };
  return result;
});

/** Plays one episode, and returns it as the learner gets it. */
const playOver = Effect.fnUntraced(function* ({ generator }: ServedGenerator) {
  const template = yield* agentModel(model, prefix);
  const agents = yield* openAgents(agent, {
    budget: { calls: 4, contextTokens: 256, replyTokens: 16 },
    model: template,
  });
  const { episodes } = yield* agents
    .play(rollout(), modeAt(1), promptOf(0))
    .pipe(Effect.provideService(Policy, generator));
  const scored = scoredGroupOf(
    0,
    episodes.map((episode) => ({ episode, score: 1 })),
  );
  const batch = collate([scored], { window: 0, temperature: 1, keptRatio: 1 });
  const opening = yield* template.opening({ messages: question, tools: [] } satisfies Conversation);
  const bridge = yield* template.bridge([result], []);
  return { batch, bridge: Array.from(bridge), episodes, opening: Array.from(opening) };
});

const generators = {
  vllm: overServer("vllm"),
  sglang: overServer("sglang"),
  tinker: overTinker,
} as const;

describe("an agent's episode over a server", () => {
  it.live.each(Object.entries(generators))("%s: is trained as the server sampled it, token by token", ([_, open]) =>
    Effect.gen(function* () {
      const server = yield* open;
      const { batch, bridge, episodes, opening } = yield* playOver(server);
      expect(episodes).toMatchObject([{ outcome: { _tag: "Done" }, sequences: [{ turns: [{}, {}] }] }]);
      const [first = [], second = []] = replies.map(({ ids }) => ids);
      // The stop text ended the first reply, so the bridge begins with an end token that nobody sampled.
      const between = [stopId, ...bridge];
      expect(server.prompts).toEqual([opening, [...opening, ...first, ...between]]);
      expect(Array.from(batch.ids)).toEqual([...opening, ...first, ...between, ...second]);
      const parts = [opening, first, between, second];
      const sampledOr = <A>(reply: (at: number, length: number) => readonly A[], shown: A): readonly A[] =>
        parts.flatMap(({ length }, at) => (at % 2 === 1 ? reply((at - 1) / 2, length) : Array(length).fill(shown)));
      expect(Array.from(batch.mask)).toEqual(sampledOr((_, length) => Array(length).fill(1), 0));
      expect(Array.from(batch.mu)).toEqual(sampledOr(logprobsOf, 0));
      expect(Array.from(batch.versions)).toEqual(sampledOr((_, length) => Array(length).fill(0), -1));
    }),
  );
});
