import { Effect } from "effect";
import { afterAll, beforeAll, expect, it } from "vitest";
import { dialects } from "../../../src/agents/dialects/main.ts";
import { serveEndpoint } from "../../../src/agents/session/endpoint.ts";
import type { Session } from "../../../src/agents/session/Session.ts";
import { Sessions } from "../../../src/agents/session/Sessions.ts";

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

const sessions = new Sessions();
let url = "";
let stop: () => void;
const key = sessions.add(echo);
const endedKey = sessions.add(echo);
sessions.remove(endedKey);

beforeAll(async () => {
  await new Promise<void>((resolve) => {
    const serving = Effect.gen(function* () {
      ({ url } = yield* serveEndpoint(dialects, sessions));
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
