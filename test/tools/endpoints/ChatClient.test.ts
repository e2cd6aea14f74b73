/** The client against a stand-in on a real socket: what it repeats, what it waits for, and when it stops. */
import { it } from "@effect/vitest";
import { Clock, Effect, Fiber, Redacted, Result } from "effect";
import { TestClock } from "effect/testing";
import { describe, expect } from "vitest";
import { nothing } from "../../../src/tools/endpoints/Budget.ts";
import * as ChatClient from "../../../src/tools/endpoints/ChatClient.ts";
import { HOUR_MS, steppedClock } from "../../steppedClock.ts";
import { endpointAt } from "./settings.ts";
import { faults, json, type Script, says, standIn } from "./standIn.ts";

const chat = [{ role: "user", content: "State of the world." }] as const;
const options = { key: null, before: nothing, seed: 1 };

/** The first answers are faults, the rest are replies. */
const firstly =
  (...first: readonly ((...args: Parameters<Script>) => void)[]): Script =>
  (request, response) =>
    (first[request.nth] ?? (() => says(response, { text: "fine" })))(request, response);

const bad =
  (fault: (response: Parameters<Script>[1]) => void): Script =>
  (_, response) =>
    fault(response);

describe("a request", () => {
  it.live("is answered with text and tokens", () =>
    Effect.gen(function* () {
      const server = yield* standIn(firstly());
      const client = yield* ChatClient.make(endpointAt(server.url), { ...options, key: Redacted.make("k-1") });
      const reply = yield* client.complete(chat);
      expect(reply).toEqual({ text: "fine", finish: "stop", usage: { prompt: 10, reply: 5 } });
      expect(server.asked[0]).toMatchObject({
        path: "/chat/completions",
        headers: { authorization: "Bearer k-1" },
        body: { model: "m-1", messages: chat, temperature: 0, max_tokens: 100 },
      });
      expect(client.tally()).toEqual({ requests: 1, retries: 0, spent: { prompt: 10, reply: 5 } });
    }),
  );

  it.live.each(Object.entries(faults))("is repeated after an endpoint that is %s", ([, fault]) =>
    Effect.gen(function* () {
      const server = yield* standIn(firstly(bad(fault), bad(fault)));
      const client = yield* ChatClient.make(endpointAt(server.url), options);
      expect((yield* client.complete(chat)).text).toBe("fine");
      expect(client.tally()).toMatchObject({ requests: 3, retries: 2 });
    }),
  );

  it.live("is repeated where no answer comes in time", () =>
    Effect.gen(function* () {
      const server = yield* standIn(firstly(() => undefined));
      const client = yield* ChatClient.make(endpointAt(server.url, { timeoutMs: 60 }), options);
      expect((yield* client.complete(chat)).text).toBe("fine");
    }),
  );

  it.live("that is repeated is told of, once in a while", () =>
    Effect.gen(function* () {
      const server = yield* standIn(firstly(bad(faults.broken), bad(faults.broken)));
      const warnings: string[] = [];
      const warn = (message: string) => Effect.sync(() => void warnings.push(message));
      const client = yield* ChatClient.make(endpointAt(server.url), { ...options, warn });
      yield* client.complete(chat);
      expect(warnings).toEqual([`${server.url}: status 500: internal error; trying again`]);
    }),
  );

  it.live("is given up after its retries, with the last reason", () =>
    Effect.gen(function* () {
      const server = yield* standIn(bad(faults.broken));
      const client = yield* ChatClient.make(endpointAt(server.url, { retries: 2 }), options);
      const error = yield* Effect.flip(client.complete(chat));
      expect(error).toMatchObject({ _tag: "Unanswered", reason: "exhausted", message: "status 500: internal error" });
      expect(server.asked).toHaveLength(3);
    }),
  );

  it.live("is not repeated where it is at fault itself", () =>
    Effect.gen(function* () {
      const server = yield* standIn((_, response) => json(response, 400, { error: { message: "bad role" } }));
      const client = yield* ChatClient.make(endpointAt(server.url), options);
      expect(yield* Effect.flip(client.complete(chat))).toMatchObject({ reason: "rejected" });
      expect(server.asked).toHaveLength(1);
    }),
  );
});

it.live("Anthropic's protocol is spoken as it asks for", () =>
  Effect.gen(function* () {
    const server = yield* standIn((_, response) =>
      json(response, 200, {
        content: [{ type: "text", text: "fine" }],
        stop_reason: "end_turn",
        usage: { input_tokens: 3, output_tokens: 2 },
      }),
    );
    const key = Redacted.make("k-1");
    const client = yield* ChatClient.make(endpointAt(server.url, { protocol: "anthropic" }), { ...options, key });
    expect(yield* client.complete(chat)).toEqual({ text: "fine", finish: "stop", usage: { prompt: 3, reply: 2 } });
    expect(server.asked[0]).toMatchObject({
      path: "/v1/messages",
      headers: { "x-api-key": "k-1", "anthropic-version": "2023-06-01" },
      body: { max_tokens: 100 },
    });
  }),
);

it.live("a chat that a filter keeps back has a reply without text", () =>
  Effect.gen(function* () {
    const body = { error: { message: "filtered", code: "content_filter" } };
    const server = yield* standIn((_, response) => json(response, 400, body));
    const client = yield* ChatClient.make(endpointAt(server.url, { failuresInARow: 1 }), options);
    expect(yield* client.complete(chat)).toEqual({ text: "", finish: "filtered", usage: null });
    expect(server.asked).toHaveLength(1);
  }),
);

describe("the endpoint", () => {
  it.live("is asked nothing more once too many requests in a row came to nothing", () =>
    Effect.gen(function* () {
      const server = yield* standIn(bad(faults.broken));
      const client = yield* ChatClient.make(endpointAt(server.url, { retries: 0, failuresInARow: 2 }), options);
      expect(yield* Effect.flip(client.complete(chat))).toMatchObject({ _tag: "Unanswered" });
      const stopped = yield* Effect.flip(client.complete(chat));
      expect(stopped).toMatchObject({ _tag: "EndpointStopped", reason: "circuit" });
      expect(stopped.message).toContain("2 requests in a row came to nothing; the last: status 500: internal error");
      expect(yield* Effect.flip(client.complete(chat))).toBe(stopped);
      expect(server.asked).toHaveLength(2);
    }),
  );

  it.live("is not given up for failures between which something was answered", () =>
    Effect.gen(function* () {
      const server = yield* standIn(({ nth }, response) =>
        nth % 2 === 0 ? faults.broken(response) : says(response, { text: "fine" }),
      );
      const client = yield* ChatClient.make(endpointAt(server.url, { retries: 0, failuresInARow: 2 }), options);
      const results = yield* Effect.forEach([1, 2, 3, 4], () => Effect.result(client.complete(chat)));
      expect(results.map(Result.isSuccess)).toEqual([false, true, false, true]);
    }),
  );

  it.live("is asked nothing more once it refuses the key", () =>
    Effect.gen(function* () {
      const server = yield* standIn((_, response) => json(response, 401, { error: { message: "bad key k-1" } }));
      const client = yield* ChatClient.make(endpointAt(server.url), { ...options, key: Redacted.make("k-1") });
      const error = yield* Effect.flip(client.complete(chat));
      expect(error).toMatchObject({ _tag: "EndpointStopped", reason: "refused" });
      expect(error.message).not.toContain("k-1");
    }),
  );

  it.live("is not followed to another address, which would get the key", () =>
    Effect.gen(function* () {
      const other = yield* standIn(firstly());
      const server = yield* standIn((_, response) => {
        response.writeHead(307, { location: `${other.url}/chat/completions` });
        response.end();
      });
      const client = yield* ChatClient.make(endpointAt(server.url, { protocol: "anthropic" }), {
        ...options,
        key: Redacted.make("k-1"),
      });
      expect(yield* Effect.flip(client.complete(chat))).toMatchObject({ reason: "refused" });
      expect(other.asked).toHaveLength(0);
    }),
  );
});

describe("a budget", () => {
  it.live("is never exceeded, and says what was spent", () =>
    Effect.gen(function* () {
      const server = yield* standIn((_, response) => says(response, { text: "fine", prompt: 10, tokens: 40 }));
      const budget = { tokens: 320, usd: null, prices: { in: 0, out: 0 } };
      const client = yield* ChatClient.make(endpointAt(server.url, { budget }), options);
      const results = yield* Effect.forEach(Array.from({ length: 12 }), () => Effect.result(client.complete(chat)), {
        concurrency: 4,
      });
      const { prompt, reply } = client.tally().spent;
      expect(prompt + reply).toBeLessThanOrEqual(320);
      expect(server.asked.length).toBeGreaterThan(1);
      const stopped = results.flatMap((result) => (Result.isFailure(result) ? [result.failure] : []));
      expect(stopped[0]).toMatchObject({ _tag: "EndpointStopped", reason: "budget" });
      expect(stopped[0]?.message).toMatch(/spent: \d+ of 320 tokens/);
    }),
  );

  it.live("counts what earlier sessions spent", () =>
    Effect.gen(function* () {
      const server = yield* standIn(firstly());
      const budget = { tokens: 320, usd: null, prices: { in: 0, out: 0 } };
      const before = { prompt: 300, reply: 0 };
      const client = yield* ChatClient.make(endpointAt(server.url, { budget }), { ...options, before });
      expect(yield* Effect.flip(client.complete(chat))).toMatchObject({ reason: "budget" });
      expect(server.asked).toHaveLength(0);
    }),
  );
});

/** Longest that a test may take by its own clock, milliseconds. */
const PATIENCE_MS = 60_000;

/** Lets the time of the test pass while nothing is on its way over the socket, until the fiber has ended. */
const passing = Effect.fnUntraced(function* <A, E>(fiber: Fiber.Fiber<A, E>, busy: () => boolean) {
  const quiet = Effect.promise(async () => {
    for (let turns = 0; turns < 5; ) {
      await new Promise((resolve) => setTimeout(resolve, 1));
      turns = busy() ? 0 : turns + 1;
    }
  });
  for (let passed = 0; fiber.pollUnsafe() === undefined; passed += 100) {
    if (passed > PATIENCE_MS) throw new Error("what the test waits for has not ended within a minute of its clock");
    yield* quiet;
    yield* TestClock.adjust(100);
  }
  return yield* Fiber.join(fiber);
});

/** The times, by the clock of the test, at which requests reach the server. */
const timedServer = Effect.fnUntraced(function* (script: Script) {
  const clock = yield* Clock.Clock;
  const at: number[] = [];
  const server = yield* standIn((request, response) => {
    at.push(clock.currentTimeMillisUnsafe());
    script(request, response);
  });
  return { server, at };
});

describe("a wait", () => {
  it.effect("that the endpoint asks for is kept, by all requests", () =>
    Effect.gen(function* () {
      const { at, server } = yield* timedServer(
        firstly((_, response) => faults.busy(response, { "retry-after": "3" })),
      );
      const client = yield* ChatClient.make(endpointAt(server.url), options);
      const both = Effect.gen(function* () {
        const first = yield* Effect.forkChild(client.complete(chat));
        yield* Effect.sleep(1_000);
        yield* client.complete(chat);
        yield* Fiber.join(first);
      });
      yield* passing(yield* Effect.forkChild(both), () => server.open() > 0);
      expect(at).toHaveLength(3);
      expect(at.slice(1).every((time) => time >= 3_000)).toBe(true);
    }),
  );

  const steps = [
    { name: "back", stepMs: -HOUR_MS },
    { name: "forward", stepMs: HOUR_MS },
  ];
  it.effect.each(steps)(
    "is neither longer nor shorter where the wall clock is set $name an hour meanwhile",
    ({ stepMs }) =>
      Effect.gen(function* () {
        const { at, server } = yield* timedServer(
          firstly((_, response) => faults.busy(response, { "retry-after": "3" })),
        );
        const { clock, step } = steppedClock(yield* Clock.Clock);
        const both = Effect.gen(function* () {
          const client = yield* ChatClient.make(endpointAt(server.url), options);
          const first = yield* Effect.forkChild(client.complete(chat));
          yield* Effect.sleep(1_000);
          step(stepMs);
          yield* client.complete(chat);
          yield* Fiber.join(first);
        });
        const fiber = yield* Effect.forkChild(Effect.provideService(both, Clock.Clock, clock));
        yield* passing(fiber, () => server.open() > 0);
        expect(at).toHaveLength(3);
        for (const time of at.slice(1)) {
          expect(time).toBeGreaterThanOrEqual(3_000);
          expect(time).toBeLessThan(4_000);
        }
      }),
  );

  it.effect.each(steps)("keeps the rate of requests where the wall clock is set $name an hour", ({ stepMs }) =>
    Effect.gen(function* () {
      const { at, server } = yield* timedServer(firstly());
      const { clock, step } = steppedClock(yield* Clock.Clock);
      const all = Effect.gen(function* () {
        const client = yield* ChatClient.make(endpointAt(server.url, { requestsPerMinute: 60 }), options);
        yield* Effect.forEach([1, 2, 3], () =>
          Effect.andThen(
            client.complete(chat),
            Effect.sync(() => step(stepMs)),
          ),
        );
      });
      const fiber = yield* Effect.forkChild(Effect.provideService(all, Clock.Clock, clock));
      yield* passing(fiber, () => server.open() > 0);
      expect(at).toHaveLength(3);
      for (const [i, time] of at.entries()) expect(time).toBeGreaterThanOrEqual(1_000 * i);
    }),
  );

  it.effect("doubles from one attempt to the next, half of it at random", () =>
    Effect.gen(function* () {
      const { at, server } = yield* timedServer(firstly(...Array.from({ length: 4 }, () => bad(faults.broken))));
      const client = yield* ChatClient.make(endpointAt(server.url, { retryWaitMs: 1_000 }), options);
      yield* passing(yield* Effect.forkChild(client.complete(chat)), () => server.open() > 0);
      const gaps = at.slice(1).map((time, i) => time - (at[i] ?? 0));
      for (const [i, gap] of gaps.entries()) expect(gap).toBeGreaterThanOrEqual(500 * 2 ** i);
      expect(gaps).toHaveLength(4);
    }),
  );

  it.effect("keeps the rate of requests", () =>
    Effect.gen(function* () {
      const { at, server } = yield* timedServer(firstly());
      const client = yield* ChatClient.make(endpointAt(server.url, { requestsPerMinute: 60 }), options);
      const all = Effect.forEach(Array.from({ length: 4 }), () => client.complete(chat), { concurrency: 4 });
      yield* passing(yield* Effect.forkChild(all), () => server.open() > 0);
      for (const [i, time] of at.entries()) expect(time).toBeGreaterThanOrEqual(1_000 * i);
      expect(at).toHaveLength(4);
    }),
  );

  it.live("beyond ten minutes ends the evaluation", () =>
    Effect.gen(function* () {
      const server = yield* standIn(bad((response) => faults.busy(response, { "retry-after": "86400" })));
      const client = yield* ChatClient.make(endpointAt(server.url), options);
      const error = yield* Effect.flip(client.complete(chat));
      expect(error).toMatchObject({ _tag: "EndpointStopped", reason: "quota" });
      expect(error.message).toContain("asks to wait 86400 s");
    }),
  );
});
