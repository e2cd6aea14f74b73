/**
 * Faults of generation servers that a run survives, and those that end it: scripted faults of single requests, and servers that die and
 * come back.
 */
import { describe, expect, it } from "@effect/vitest";
import { Deferred, Effect, Fiber } from "effect";
import { json } from "../../httpStandIn.ts";
import type { Script } from "./fakeServer.ts";
import {
  engines,
  fake,
  fakeOf,
  requestOf,
  scoresOf,
  serversConfig,
  startGenerator,
  vocabSize,
} from "./startGenerator.ts";

/** The first request meets the fault; the server answers the others. */
const once =
  (fault: Script): Script =>
  (request, response, fake) =>
    request.nth === 0 ? fault(request, response, fake) : undefined;

const handled = (act: () => void): "handled" => {
  act();
  return "handled";
};

const passing: ReadonlyArray<readonly [name: string, fault: Script]> = [
  ["status 500", (_, response) => handled(() => json(response, 500, { error: { message: "engine trouble" } }))],
  ["status 503 with a wait", (_, response) => handled(() => json(response, 503, {}, { "retry-after": "0.01" }))],
  ["a page of HTML", (_, response) => handled(() => response.end("<html>maintenance</html>"))],
  ["a connection cut before the status", (_, response) => handled(() => response.destroy())],
  [
    "a connection cut in the middle of the body",
    (_, response) =>
      handled(() => {
        response.writeHead(200, { "content-type": "application/json", "content-length": "1000" });
        response.write('{"choices":[');
        setImmediate(() => response.destroy());
      }),
  ],
  ["an abort by someone else", () => ({ ids: [1], finish: "abort" })],
  ["an id outside the vocabulary", () => ({ ids: [vocabSize] })],
  ["a log-probability above 0", () => ({ ids: [1], logprobs: [0.5] })],
  ["more tokens than were asked for", ({ maxTokens }) => ({ ids: Array.from({ length: maxTokens + 1 }, () => 1) })],
  ["no token", () => ({ ids: [] })],
  [
    "versions that do not cover its tokens",
    ({ label }) => ({ ids: [1, 2], spans: [{ version: label, start: 0, end: 1 }] }),
  ],
  ["no versions", () => ({ ids: [1, 2], spans: null })],
];

describe("a request that failed is asked again", () => {
  for (const [name, fault] of passing) {
    it.live(`after ${name}`, () =>
      Effect.gen(function* () {
        const server = yield* fake({ script: once(fault) });
        const { generator } = yield* startGenerator(serversConfig([server.url]));
        const { ids, versions } = yield* generator.generate(requestOf(1, [5, 6], { maxTokens: 3 }));
        expect([Array.from(ids), Array.from(versions)]).toEqual([
          [2, 3, 4],
          [0, 0, 0],
        ]);
      }),
    );
  }

  it.live("and fails after ten times", () =>
    Effect.gen(function* () {
      let requests = 0;
      const server = yield* fake({
        script: () => {
          requests++;
          return { ids: [vocabSize] };
        },
      });
      const { generator } = yield* startGenerator(serversConfig([server.url]));
      const { message, reason } = yield* Effect.flip(generator.generate(requestOf(1, [5, 6])));
      expect([reason, requests]).toEqual(["session_failed", 10]);
      expect(message).toContain(`a request failed 10 times; the last: ${server.url}: an answer cannot be used`);
    }),
  );

  it.live("unless its log-probabilities are no numbers: the weights are too large", () =>
    Effect.gen(function* () {
      // vLLM's values for minus infinity and NaN.
      const server = yield* fake({ script: () => ({ ids: [1], logprobs: [-9999] }) });
      const { generator } = yield* startGenerator(serversConfig([server.url]));
      expect(yield* Effect.flip(generator.generate(requestOf(1, [5, 6])))).toMatchObject({ reason: "not_finite" });
    }),
  );
});

describe("a fleet of two", () => {
  it.live("asks the other server for what a server had when it died, and says that it is gone", () =>
    Effect.gen(function* () {
      const dying = yield* fake({ script: (_, __, self) => handled(() => void self.die()) });
      const other = yield* fake();
      const { generator, changes } = yield* startGenerator(serversConfig([dying.url, other.url]));
      const replies = yield* Effect.forEach([1, 2, 3, 4], (id) => generator.generate(requestOf(id, [5, id])), {
        concurrency: "unbounded",
      });
      expect(replies.map(({ ids }) => ids.length)).toEqual([8, 8, 8, 8]);
      expect(yield* generator.gauges).toMatchObject({ slots: 8 });
      yield* Effect.sleep(50);
      expect(changes.at(-1)).toMatchObject({ name: dying.url, state: { _tag: "Retrying", attempt: 1 } });
    }),
  );

  it.live.each(engines)(
    "gives a server that comes back the newest weights before it gives it a request (%s)",
    (engine) =>
      Effect.gen(function* () {
        const first = yield* fakeOf(engine);
        const other = yield* fakeOf(engine);
        const { generator, send, changes } = yield* startGenerator(serversConfig([first.url, other.url], { engine }));
        yield* Effect.promise(first.die);
        yield* Effect.forEach([1, 2], (id) => generator.generate(requestOf(id, [5, id])), { concurrency: "unbounded" });
        send(1);
        yield* generator.awaitVersion(1);
        yield* Effect.promise(first.restart);
        const back = Effect.suspend(() =>
          Effect.succeed(changes.findLast(({ name }) => name === first.url)?.state._tag),
        );
        while ((yield* back) !== "Up") yield* Effect.sleep(20);
        expect(first.adopted.map((label) => label.replace(/.*-/, ""))).toEqual(["v0", "v1"]);
        const replies = yield* Effect.forEach([3, 4], (id) => generator.generate(requestOf(id, [5, id])), {
          concurrency: "unbounded",
        });
        expect(replies.flatMap(({ versions }) => Array.from(new Set(versions)))).toEqual([1, 1]);
        expect(
          first.received
            .map(({ body }) => body.token_ids ?? body.input_ids)
            .filter((ids) => Array.isArray(ids) && ids.length === 2),
        ).not.toEqual([]);
      }),
    20_000,
  );

  it.live("keeps a sequence with the server that has its caches, and spreads sequences", () =>
    Effect.gen(function* () {
      const servers = [yield* fake(), yield* fake()];
      const { generator } = yield* startGenerator(serversConfig(servers.map(({ url }) => url)));
      for (const turn of [1, 2, 3]) {
        yield* Effect.forEach([1, 2, 3, 4], (id) =>
          generator.generate(requestOf(id, [100 + id, turn], { maxTokens: 1 })),
        );
      }
      const owners = servers.map(
        ({ received }) =>
          new Set(
            received.flatMap(({ body }) => {
              const [first] = Array.isArray(body.token_ids) ? (body.token_ids as number[]) : [];
              return first !== undefined && first > 100 && first < 105 ? [first] : [];
            }),
          ),
      );
      expect(owners.map(({ size }) => size)).toEqual([2, 2]);
      expect(new Set(owners.flatMap((owned) => [...owned])).size).toBe(4);
    }),
  );
});

describe("a fleet that nobody is left of", () => {
  it.live("ends after its deadline, and says what to start", () =>
    Effect.gen(function* () {
      const server = yield* fake();
      const { generator } = yield* startGenerator(serversConfig([server.url], { down_deadline_ms: 300 }));
      yield* Effect.promise(server.die);
      const waiting = yield* Effect.forkChild(Effect.flip(generator.generate(requestOf(1, [5, 6]))), {
        startImmediately: true,
      });
      const { message } = yield* Effect.flip(generator.died);
      expect(message).toMatch(
        /^no generation server has answered for 0 s \(http:.*\); start one again, and go on with --resume/,
      );
      expect((yield* Fiber.join(waiting)).message).toBe(message);
      expect((yield* Effect.flip(generator.awaitVersion(9))).message).toBe(message);
    }),
  );

  it.live("ends at once where its only server takes weights without taking all of them", () =>
    Effect.gen(function* () {
      // The log-probabilities of version 0 after every version: a server that has kept its old output matrix.
      const stale = yield* fake({ score: (_, length) => scoresOf("-v0", length) });
      const { generator, send } = yield* startGenerator(serversConfig([stale.url]));
      send(1);
      const { message } = yield* Effect.flip(generator.died);
      expect(message).toMatch(/with version 1 its log-probabilities of a fixed text lie .* nats from ours/);
      expect(message).toContain("tie_word_embeddings");
    }),
  );

  it.live("is busy, not lost, while its server says 429, and says until when", () =>
    Effect.gen(function* () {
      const busy = Deferred.makeUnsafe<void>();
      const server = yield* fake({
        script: once((_, response) =>
          handled(() => {
            json(response, 429, { error: "too many" }, { "retry-after": "0.2" });
            Deferred.doneUnsafe(busy, Effect.void);
          }),
        ),
      });
      const { generator, changes } = yield* startGenerator(serversConfig([server.url]));
      const { ids } = yield* generator.generate(requestOf(1, [5, 6], { maxTokens: 2 }));
      expect(ids.length).toBe(2);
      expect(changes.map(({ state }) => state._tag)).toEqual(["Up", "Retrying", "Up"]);
    }),
  );
});
