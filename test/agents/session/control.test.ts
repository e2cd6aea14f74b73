/** The control routes over HTTP, as programs outside ask them. */
import { Effect, Fiber } from "effect";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { dialects } from "../../../src/agents/dialects/main.ts";
import { EpisodeAccount } from "../../../src/agents/host/EpisodeAccount.ts";
import * as OutsideAgents from "../../../src/agents/host/OutsideAgents.ts";
import { controlRoutes } from "../../../src/agents/session/control.ts";
import { serveEndpoint } from "../../../src/agents/session/endpoint.ts";
import type { Session } from "../../../src/agents/session/Session.ts";
import { Sessions } from "../../../src/agents/session/Sessions.ts";
import { order } from "../host/orders.ts";

/** A session with one answer, `a1`, which is its call 4. */
const session = {
  limit: null,
  tree: { size: 5 },
  callOf: (id: string) => (id === "a1" ? { number: 4 } : null),
} as unknown as Session;

const token = "the-token-of-the-run";
const sessions = new Sessions();
const outside = OutsideAgents.make((seed) => ({ question: seed }), { openSeconds: 60, seconds: 60 });
let url = "";
let stop: () => void;

beforeAll(async () => {
  await new Promise<void>((resolve) => {
    const serving = Effect.gen(function* () {
      const routes = controlRoutes({ sessions, outside, token, seconds: 60 });
      ({ url } = yield* serveEndpoint(dialects, sessions, { routes }));
      yield* Effect.callback<void>((end) => {
        stop = () => end(Effect.void);
        resolve();
      });
    });
    void Effect.runPromise(Effect.scoped(serving));
  });
});
afterAll(() => stop());

const send = async (method: "GET" | "POST", path: string, key: string | null, body?: unknown) => {
  const response = await fetch(url + path, {
    method,
    headers: {
      ...(body === undefined ? {} : { "content-type": "application/json" }),
      ...(key === null ? {} : { authorization: `Bearer ${key}` }),
    },
    ...(body === undefined ? {} : { body: typeof body === "string" ? body : JSON.stringify(body) }),
  });
  return { status: response.status, body: await response.json(), retryAfter: response.headers.get("retry-after") };
};
const post = (path: string, key: string | null, body: unknown) => send("POST", path, key, body);

/** An episode that is open, and its key. */
const opened = () => {
  const account = new EpisodeAccount();
  return { account, key: sessions.add(session, account) };
};

describe("opening an episode", () => {
  it("asks for the run's token", async () => {
    for (const key of [null, "another-token-of-a-run"])
      expect(await post("/v1/episodes", key, {})).toMatchObject({ status: 401 });
  });

  it("is put off while none waits, and gives the next one with its task and key", async () => {
    expect(await post("/v1/episodes", token, {})).toMatchObject({ status: 429, retryAfter: "1" });
    const playing = Effect.runFork(outside.play(order({ endpoint: url, apiKey: "mr-ep-9" }), new EpisodeAccount()));
    await expect.poll(async () => (await post("/v1/episodes", token, { split: "val" })).status).toBe(429);
    expect(await post("/v1/episodes", token, {})).toEqual({
      status: 200,
      retryAfter: null,
      body: {
        ...{ apiKey: "mr-ep-9", baseURL: `${url}/v1`, anthropicBaseURL: url, task: { question: 7 } },
        ...{ split: "train", seed: 7, group: 3, member: 1, seconds: 60 },
      },
    });
    await Effect.runPromise(Fiber.interrupt(playing));
  });
});

describe("an open episode", () => {
  it("takes rewards of calls by the ids of their answers, and of the whole", async () => {
    const { account, key } = opened();
    for (const call of ["chatcmpl-a1", "resp_a1", "msg_a1", null])
      expect(await post("/v1/episode/reward", key, { reward: 2, call })).toMatchObject({ status: 200 });
    expect(account.rewards).toEqual({ whole: 2, calls: new Map([[4, 2]]) });
    expect(await send("GET", "/v1/episode", key)).toMatchObject({
      body: { status: "open", calls: 5, reward: 4, limit: null },
    });
  });

  it.each([
    [{ reward: "1" }, /^reward: "1": a reward is a number/],
    [{}, /^the body has not the fields of this route$/],
    ["no JSON", /^the body is no JSON$/],
    [{ reward: 1, call: "chatcmpl-b2" }, /^call: "chatcmpl-b2" is the id of no answer of this episode$/],
  ])("refuses the reward %j", async (body, message) => {
    const { account, key } = opened();
    const reply = await post("/v1/episode/reward", key, body);
    expect([reply.status, reply.body.error.message]).toEqual([400, expect.stringMatching(message)]);
    expect(account.rewards).toBeNull();
  });

  it("ends once, and says the same to the same end, also when it has ended", async () => {
    const { account, key } = opened();
    const end = { reward: 1, metrics: { steps: 2 } };
    expect(await post("/v1/episode/end", key, {})).toMatchObject({ status: 400 });
    expect(await post("/v1/episode/end", key, end)).toMatchObject({ status: 200, body: { status: "done" } });
    sessions.remove(key);
    expect(await post("/v1/episode/end", key, end)).toMatchObject({ status: 200 });
    expect(await post("/v1/episode/end", key, { reward: 0 })).toMatchObject({ status: 409 });
    expect(await post("/v1/episode/reward", key, { reward: 0 })).toMatchObject({ status: 410 });
    expect(await send("GET", "/v1/episode", key)).toMatchObject({ body: { status: "ended", reward: null } });
    expect(account.end).toMatchObject({ status: "done", outcome: end });
  });

  it("counts the first of ends that come at once", async () => {
    const { account, key } = opened();
    const ends = await Promise.all([0, 1, 2, 3].map((reward) => post("/v1/episode/end", key, { reward })));
    expect(ends.map(({ status }) => status).toSorted()).toEqual([200, 409, 409, 409]);
    const first = ends.findIndex(({ status }) => status === 200);
    expect(account.end?.outcome).toEqual({ reward: first });
  });

  it("is none for a key that nobody has, and not reported on where the agent's run returns the reward", async () => {
    const key = sessions.add(session);
    for (const [path, body] of [
      ["/v1/episode/reward", { reward: 1 }],
      ["/v1/episode/end", { reward: 1 }],
    ] as const) {
      expect(await post(path, "mr-ep-unknown", body)).toMatchObject({ status: 401 });
      expect(await post(path, key, body)).toMatchObject({ status: 409 });
    }
    expect(await send("GET", "/v1/episode", null)).toMatchObject({ status: 401 });
  });
});
