import { Effect } from "effect";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { ModelAnswer } from "../../../src/agents/dialects/Dialect.ts";
import { dialects } from "../../../src/agents/dialects/main.ts";
import { serveEndpoint } from "../../../src/agents/session/endpoint.ts";
import type { Session } from "../../../src/agents/session/Session.ts";
import { Sessions } from "../../../src/agents/session/Sessions.ts";
import { Problem } from "../../../src/support/http/Problem.ts";
import { textAnswer } from "../dialects/answers.ts";

/** Answers every call with its last message. */
const echo = {
  recall: () => null,
  answer: ({ conversation: { messages } }: Parameters<Session["answer"]>[0]) =>
    Effect.succeed({
      id: "1",
      created: 1,
      text: messages.at(-1)?.text ?? "",
      reasoning: null,
      calls: [],
      finish: "stop" as const,
      stop: null,
      usage: { prompt: 1, reply: 1 },
    }),
} as unknown as Session;

/** Its answers wait until `settle` is called. */
const slow = () => {
  const { promise, resolve } = Promise.withResolvers<Effect.Effect<ModelAnswer, Problem>>();
  let [isAsked, isCancelled] = [false, false];
  const waiting = Effect.flatten(Effect.promise(() => promise)).pipe(
    Effect.onInterrupt(() => Effect.sync(() => (isCancelled = true))),
  );
  const answer = () => {
    isAsked = true;
    return waiting;
  };
  const session = { recall: () => null, answer } as unknown as Session;
  return { key: sessions.add(session), settle: resolve, isAsked: () => isAsked, isCancelled: () => isCancelled };
};

const sessions = new Sessions();
let url = "";
let stop: () => void;
const key = sessions.add(echo);
const endedKey = sessions.add(echo);
sessions.remove(endedKey);

beforeAll(async () => {
  await new Promise<void>((resolve) => {
    const serving = Effect.gen(function* () {
      ({ url } = yield* serveEndpoint(dialects, sessions, { silenceMs: 20 }));
      yield* Effect.callback<void>((end) => {
        stop = () => end(Effect.void);
        resolve();
      });
    });
    void Effect.runPromise(Effect.scoped(serving));
  });
});
afterAll(() => stop());

const post = (path: string, body: unknown, headers: Record<string, string> = { authorization: `Bearer ${key}` }) =>
  fetch(url + path, {
    method: "POST",
    headers: { "content-type": "application/json", ...headers },
    body: typeof body === "string" ? body : JSON.stringify(body),
  });

const hello = [{ role: "user", content: "hello" }];
const bodies = {
  "/v1/chat/completions": { model: "policy", messages: hello },
  "/v1/responses": { model: "policy", input: "hello" },
  "/v1/messages": { model: "policy", max_tokens: 9, messages: hello },
} as const;

it.each(Object.entries(bodies))("answers %s, whole and as a stream", async (path, body) => {
  const whole = await post(path, body);
  expect([whole.status, await whole.text()]).toEqual([200, expect.stringContaining("hello")]);
  const stream = await post(path, { ...body, stream: true });
  expect(stream.headers.get("content-type")).toBe("text/event-stream");
  expect(await stream.text()).toMatch(/^(event|data): /);
});

it.each(Object.keys(bodies))("answers errors of %s in its own form, and asks for no retry", async (path) => {
  const problems = [
    [await post(path, {}, {}), 401],
    [await post(path, {}, { authorization: "Bearer mr-ep-1" }), 401],
    [await post(path, {}, { "x-api-key": endedKey }), 410],
    [await post(path, "{", { "x-api-key": key }), 400],
    [await post(path, { messages: 1, input: 1 }), 400],
  ] as const;
  for (const [response, status] of problems) {
    expect([response.status, response.headers.get("x-should-retry")]).toEqual([status, "false"]);
    expect(await response.json()).toMatchObject({ error: { message: expect.any(String) } });
  }
});

it("lists the trained model", async () => {
  expect(await (await fetch(`${url}/v1/models`)).json()).toMatchObject({ data: [{ id: "policy" }] });
});

it("refuses pages of other origins and other names of this machine", async () => {
  const headers = { authorization: `Bearer ${key}`, origin: "http://evil.example" };
  expect((await post("/v1/chat/completions", bodies["/v1/chat/completions"], headers)).status).toBe(403);
});

/** The text of a stream as it comes, until `isEnough`. */
const readUntil = async (response: Response, isEnough: (text: string) => boolean) => {
  const reader = response.body!.pipeThrough(new TextDecoderStream()).getReader();
  let text = "";
  while (!isEnough(text)) {
    const { done, value } = await reader.read();
    if (done) break;
    text += value;
  }
  reader.releaseLock();
  return text;
};

const signs = { "/v1/chat/completions": ": \n\n", "/v1/responses": ": \n\n", "/v1/messages": "event: ping\n" } as const;

it("counts the tokens of Anthropic's messages without answering them", async () => {
  const counted = { countTokens: () => Effect.succeed(7), recall: () => null } as unknown as Session;
  const authorization = `Bearer ${sessions.add(counted)}`;
  const response = await post("/v1/messages/count_tokens", { model: "policy", messages: hello }, { authorization });
  expect([response.status, await response.json()]).toEqual([200, { input_tokens: 7 }]);
  expect((await post("/v1/messages/count_tokens", { messages: hello }, { authorization: "Bearer x" })).status).toBe(
    401,
  );
});

describe("a stream whose reply takes long", () => {
  it.each(Object.entries(bodies))("shows signs of life at %s, and then the reply", async (path, body) => {
    const { key, settle } = slow();
    const response = await post(path, { ...body, stream: true }, { authorization: `Bearer ${key}` });
    const sign = signs[path as keyof typeof signs];
    const text = await readUntil(response, (read) => {
      if (read.split(sign).length > 2) settle(Effect.succeed(textAnswer));
      return false;
    });
    expect(response.headers.get("content-type")).toBe("text/event-stream");
    expect(text).toContain(textAnswer.text);
  });

  it.each([
    ["/v1/chat/completions", /data: \{"error":\{"message":"it has ended"/],
    ["/v1/responses", /event: error\ndata: \{"type":"error","code":.*"message":"it has ended"/],
    ["/v1/messages", /event: error\ndata: \{"type":"error","error":\{.*"it has ended"/],
  ] as const)("ends with an error in the form of %s", async (path, form) => {
    const { key, settle } = slow();
    const response = await post(path, { ...bodies[path], stream: true }, { authorization: `Bearer ${key}` });
    const text = await readUntil(response, (read) => {
      if (read !== "") settle(Effect.fail(new Problem({ status: 410, message: "it has ended" })));
      return false;
    });
    expect(text).toMatch(form);
  });

  it.each([true, false])("is cancelled when its client goes away (stream: %s)", async (stream) => {
    const { isAsked, isCancelled, key } = slow();
    const abort = new AbortController();
    const path = "/v1/chat/completions";
    const asking = fetch(url + path, {
      method: "POST",
      signal: abort.signal,
      headers: { "content-type": "application/json", authorization: `Bearer ${key}` },
      body: JSON.stringify({ ...bodies[path], stream }),
    });
    if (stream) await readUntil(await asking, (read) => read !== "");
    await expect.poll(isAsked).toBe(true);
    abort.abort();
    await asking.catch(() => undefined);
    await expect.poll(isCancelled).toBe(true);
  });
});
