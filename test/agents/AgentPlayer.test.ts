/** Groups of an agent: what becomes of an episode whose calls do not fit, whose generator fails, or that is given up. */
import { Effect, Fiber } from "effect";
import { describe, expect, it } from "vitest";
import type { EpisodeOrder } from "../../src/agents/host/AgentHost.ts";
import type { Message } from "../../src/domain/Conversation.ts";
import type { Episode } from "../../src/domain/Episode.ts";
import { PolicyError } from "../../src/domain/Errors.ts";
import { promptOf } from "../build/groups.ts";
import { type FakePolicy, fakePolicy, rollout, scripted } from "../rollout/fakes.ts";
import { earned, modeAt, openAgents, type TestAgent } from "./playedAgents.ts";
import { textModel } from "./session/textModel.ts";
import { type WireCall, wireForms } from "./wireForms.ts";

const budget = { calls: 5, contextTokens: 100, replyTokens: 10 };

const post = async ({ apiKey, endpoint }: Parameters<TestAgent>[0], text: string) => {
  const response = await fetch(`${endpoint}/v1/chat/completions`, {
    method: "POST",
    headers: { "content-type": "application/json", authorization: `Bearer ${apiKey}` },
    body: JSON.stringify({ model: "policy", messages: [{ role: "user", content: text }] }),
  });
  return response.status;
};

/** Opens an agent, and uses the effect that plays a group of two of its episodes. */
const playing = <A, E>(
  agent: TestAgent,
  { layer }: FakePolicy,
  use: (group: Effect.Effect<readonly unknown[], unknown>, open: () => number) => Effect.Effect<A, E>,
): Promise<A> =>
  Effect.runPromise(
    Effect.scoped(
      Effect.gen(function* () {
        const { play, sessions } = yield* openAgents(agent, { budget, model: textModel });
        const group = play(rollout(), modeAt(1), promptOf(0, 2, { tag: "Agent" })).pipe(
          Effect.map(({ episodes }) => episodes),
          Effect.provide(layer),
        );
        return yield* use(group, () => sessions.size);
      }),
    ),
  );

describe("an agent that uses tools which the model's template leaves out", () => {
  const why = "tools cannot be offered";
  const model = { ...textModel, toolsProblem: why };
  const tool = { name: "search", description: "", parameters: {} };
  const question: Message = { role: "user", text: "a" };
  const calling: Message = { role: "assistant", text: "", calls: [{ id: "c", name: "search", arguments: {} }] };
  const withResult: readonly Message[] = [question, calling, { role: "tool", call: "c", text: "b" }];

  it.each(Object.values(wireForms))(
    "is refused at $path, and its episode fails, whatever it makes of it",
    async (form) => {
      const refusals: [number, unknown][] = [];
      const send = async ({ apiKey, endpoint }: EpisodeOrder, path: string, call: WireCall) => {
        const headers = { "content-type": "application/json", authorization: `Bearer ${apiKey}` };
        const response = await fetch(endpoint + path, {
          method: "POST",
          headers,
          body: JSON.stringify(form.body(call)),
        });
        const { error } = (await response.json()) as {
          readonly error?: { readonly type: string; readonly message: string };
        };
        refusals.push([response.status, [error?.type, error?.message]]);
      };
      const agent: TestAgent = async (order) => {
        await send(order, form.path, { messages: [question], tools: [tool], maxTokens: 5 });
        await send(order, form.path, { messages: [question], tools: [tool], maxTokens: 5, isStreamed: true });
        await send(order, form.path, { messages: withResult, maxTokens: 5 });
        await post(order, "without tools");
        return earned(1);
      };
      const policy = scripted("b");
      const failures: unknown[] = [];
      const onPlayed = ({ outcome }: Episode) => void failures.push(outcome);
      const group = promptOf(0, 1, { tag: "Agent" });
      await Effect.runPromise(
        Effect.scoped(
          Effect.gen(function* () {
            const { play } = yield* openAgents(agent, { budget, model, onPlayed });
            yield* Effect.provide(play(rollout(), modeAt(1), group), policy.layer);
          }),
        ),
      );
      const refusal = [400, ["invalid_request_error", why]];
      expect(refusals).toEqual([refusal, refusal, refusal]);
      expect(failures).toEqual([{ _tag: "Failed", reason: "agent_error", message: why }]);
      expect(policy.requests.length).toBe(1);
    },
  );
});

describe("a group of an agent", () => {
  it("has an episode for each member, and no key is open behind it", async () => {
    const agent: TestAgent = async (order) => {
      await post(order, "a");
      return earned(order.member);
    };
    await playing(agent, scripted("b"), (group, open) =>
      Effect.map(group, (episodes) => {
        expect(episodes).toMatchObject([
          { id: { member: 0 }, outcome: { _tag: "Done", success: false } },
          { id: { member: 1 }, outcome: { _tag: "Done", success: true } },
        ]);
        expect(open()).toBe(0);
      }),
    );
  });

  it.each([
    ["makes no call", async () => earned(1), /^it ended without a call to the endpoint/],
    [
      "has no room for a reply",
      async (order) => {
        await post(order, "x".repeat(120));
        return earned(1);
      },
      /^none of its calls left room for a reply in the context/,
    ],
  ] satisfies [string, TestAgent, RegExp][])("fails with its cause where the agent %s", async (_, agent, message) => {
    const outcome = { _tag: "Failed", reason: "agent_error", message: expect.stringMatching(message) };
    await playing(agent, scripted("b"), (group) =>
      Effect.map(group, (episodes) => expect(episodes).toMatchObject([{ outcome }, { outcome }])),
    );
  });

  it("fails where its generator does, whatever the agent makes of the failed call", async () => {
    const gone = new PolicyError({ message: "the thread is gone", reason: "thread_died" });
    const agent: TestAgent = async (order) => {
      await post(order, "a");
      return earned(1);
    };
    await playing(
      agent,
      fakePolicy(() => Effect.fail(gone)),
      (group, open) =>
        Effect.map(Effect.flip(group), (error) => {
          expect(error).toBe(gone);
          expect(open()).toBe(0);
        }),
    );
  });

  it("ends the agent and its calls where it is given up", async () => {
    const policy = fakePolicy(() => Effect.never);
    const statuses: Promise<number>[] = [];
    let aborted = 0;
    const agent: TestAgent = async (order, signal) => {
      signal.addEventListener("abort", () => aborted++);
      statuses.push(post(order, "a"));
      await Promise.all(statuses);
      return earned(1);
    };
    await playing(agent, policy, (group, open) =>
      Effect.gen(function* () {
        const fiber = yield* Effect.forkChild(group);
        yield* Effect.promise(() => expect.poll(() => policy.requests.length).toBe(2));
        yield* Fiber.interrupt(fiber);
        expect([aborted, open()]).toEqual([2, 0]);
        expect(yield* Effect.promise(() => Promise.all(statuses))).toEqual([410, 410]);
        expect(new Set(policy.released)).toEqual(new Set(policy.requests.map(({ sequence }) => sequence)));
      }),
    );
  });
});
