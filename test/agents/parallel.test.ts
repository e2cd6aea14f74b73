/** Calls that an agent makes at once: their order of arrival and of answers changes neither what is sampled nor its place in the batch. */
import { join } from "node:path";
import { describe, expect, it } from "@effect/vitest";
import { Effect } from "effect";
import { agentModel } from "../../src/agents/session/agentModelOf.ts";
import type { Message } from "../../src/domain/Conversation.ts";
import { type Generator, localGenerator } from "../../src/generation/Generator.ts";
import { Policy } from "../../src/generation/Policy.ts";
import { collate } from "../../src/learner/collate.ts";
import * as Model from "../../src/model/Model.ts";
import { packageRoot } from "../../src/support/files/packageRoot.ts";
import { configWith } from "../build/config.ts";
import { promptOf, scoredGroupOf } from "../build/groups.ts";
import { rollout } from "../rollout/fakes.ts";
import { earned, modeAt, openAgents, type TestAgent } from "./playedAgents.ts";
import { wireClient } from "./wireForms.ts";

const path = join(packageRoot, "config/models/nano");
const config = configWith({
  model: { path, generator_threads: 1 },
  rollout: { template: "compact", max_model_len: 512, response_length: 20 },
});

/** One request of the policy: the test learns when it came, and says when its reply leaves. */
interface Gate {
  readonly requested: PromiseWithResolvers<void>;
  readonly released: PromiseWithResolvers<void>;
}

const gatesOf = (requests: number): readonly Gate[] =>
  Array.from({ length: requests }, () => ({ requested: Promise.withResolvers(), released: Promise.withResolvers() }));

/** The same policy, whose n-th reply waits for the n-th gate. */
const gated = (policy: Generator, gates: readonly Gate[]): Generator => {
  let requests = 0;
  return {
    ...policy,
    generate: (request) =>
      Effect.suspend(() => {
        const gate = gates[requests++];
        gate?.requested.resolve();
        return Effect.tap(policy.generate(request), () => Effect.promise(async () => gate?.released.promise));
      }),
  };
};

const user = (text: string): Message => ({ role: "user", text });
const system: Message = { role: "system", text: "frozen_lake" };

type Arrange = <A>(calls: readonly A[]) => readonly A[];

/** Makes a call, then two beside that conversation at once, and, if it `goesOn`, two at once behind one of these. */
const pairwise =
  (gates: readonly Gate[], arrange: Arrange, goesOn: boolean): TestAgent =>
  async ({ apiKey, endpoint }) => {
    const ask = wireClient(endpoint, apiKey);
    const left = [...gates];
    /** Makes calls that are open at once; they arrive, and are answered, in their order. */
    const askAll = async (calls: readonly (readonly Message[])[]): Promise<readonly (readonly Message[])[]> => {
      const open: (readonly [Gate | undefined, readonly Message[], ReturnType<typeof ask>])[] = [];
      for (const messages of calls) {
        const gate = left.shift();
        open.push([gate, messages, ask("chat", { messages })]);
        await gate?.requested.promise;
      }
      const transcripts: (readonly Message[])[] = [];
      for (const [gate, messages, answer] of open) {
        gate?.released.resolve();
        transcripts.push([...messages, (await answer).reply]);
      }
      return transcripts;
    };
    await askAll([[system, user("PG_O")]]);
    const beside = await askAll(arrange([[user("G_OP")], [user("__GP")]]));
    const [first = []] = arrange(beside);
    if (goesOn) await askAll(arrange([user("P_OG"), user("PO_G")].map((next) => [...first, next])));
    return earned(1);
  };

const play = Effect.fnUntraced(function* (arrange: Arrange, goesOn: boolean) {
  const model = yield* Model.load(path);
  const gates = gatesOf(5);
  const agents = yield* openAgents(pairwise(gates, arrange, goesOn), {
    budget: { calls: 8, contextTokens: config.rollout.max_model_len, replyTokens: config.rollout.response_length },
    model: yield* agentModel(model, "<answer>"),
  });
  const policy = gated(yield* localGenerator(config, model, 0), gates);
  const { episodes } = yield* agents
    .play(rollout(), modeAt(1), promptOf(0))
    .pipe(Effect.provideService(Policy, policy));
  const scored = episodes.map((episode) => ({ episode, score: 1 }));
  const batch = collate([scoredGroupOf(0, scored)], { window: 0, temperature: 1, keptRatio: 1 });
  const numbers = episodes.flatMap(({ sequences }) =>
    sequences.flatMap(({ turns }) => turns.map(({ call }) => call?.number)),
  );
  return { batch, episodes, numbers };
});

const inBothOrders = Effect.fnUntraced(function* (goesOn: boolean) {
  const forwards = yield* play((calls) => calls, goesOn);
  const backwards = yield* play((calls) => calls.toReversed(), goesOn);
  expect(forwards.episodes).toMatchObject([{ outcome: { _tag: "Done" } }]);
  expect(forwards.numbers.toSorted()).toEqual(goesOn ? [0, 1, 2, 3, 4] : [0, 1, 2]);
  // The calls were answered in another order.
  expect(backwards.numbers).not.toEqual(forwards.numbers);
  return [forwards.batch, backwards.batch] as const;
});

describe("calls of one episode at once", () => {
  it.live("beside a conversation, are sampled and trained with the same bits in either order", () =>
    Effect.gen(function* () {
      const [forwards, backwards] = yield* inBothOrders(false);
      expect(backwards).toEqual(forwards);
    }),
  );

  // The first to arrive goes on behind the caches of their parent, and the other one has its path fed again, which rounds in another way.
  it.live("behind one reply, are the same but for the rounding of log-probabilities", () =>
    Effect.gen(function* () {
      const [forwards, backwards] = yield* inBothOrders(true);
      expect({ ...backwards, mu: null }).toEqual({ ...forwards, mu: null });
      const differences = forwards.mu.map((mu, at) => Math.abs(mu - (backwards.mu[at] ?? Number.NaN)));
      expect(Math.max(...differences)).toBeLessThan(1e-5);
    }),
  );
});
