/** The client of a retrieval server against stand-ins that answer well, badly, late and never. */
import { Effect, Exit, Result } from "effect";
import { describe, expect, it } from "vitest";
import { healthProblem, retrieve } from "../../../../src/env/games/search/RetrievalServer.ts";
import type { ServerRetriever } from "../../../../src/env/games/search/SearchConfig.ts";
import { nobody, withServer } from "./standIn.ts";

const at = (url: string, keys: Partial<ServerRetriever> = {}): ServerRetriever => ({
  type: "server",
  url,
  topK: 5,
  timeoutMs: 30_000,
  retries: 2,
  retryWaitMs: 1,
  ...keys,
});

/** For machines with other work. */
const patience = { timeout: 20_000, interval: 5 };

const search = (server: ServerRetriever) => Effect.runPromise(Effect.result(retrieve(server, "highest mountain")));

const failure = async (server: ServerRetriever) => {
  const found = await search(server);
  return Result.isFailure(found) ? found.failure : "found";
};

const documents = [
  { id: "doc_1", content: "one", score: 0.9 },
  { id: "doc_2", content: "two", score: 0.8 },
];

describe("a search", () => {
  it("posts the query and the number of documents, and gives the documents", () =>
    withServer(
      () => ({ body: { query: "q", method: "dense", results: documents, num_results: 2 } }),
      async ({ asked, url }) => {
        expect(await search(at(url))).toEqual(Result.succeed(documents));
        expect(asked.map(({ method, path }) => [method, path])).toEqual([["POST", "/retrieve"]]);
        expect(JSON.parse(asked[0]?.body ?? "")).toEqual({ query: "highest mountain", top_k: 5 });
      },
    ));

  it("takes no more documents than asked for, numbers those without an id, and does without a score", () =>
    withServer(
      () => ({ body: { results: [{ content: "one" }, { id: 7, content: "two", score: 1 }, { content: "three" }] } }),
      async ({ url }) => {
        expect(await search(at(url, { topK: 2 }))).toEqual(
          Result.succeed([
            { id: "doc_1", content: "one", score: 0 },
            { id: "7", content: "two", score: 1 },
          ]),
        );
      },
    ));

  it("may find nothing", () =>
    withServer(
      () => ({ body: { results: [] } }),
      async ({ url }) => {
        expect(await search(at(url))).toEqual(Result.succeed([]));
      },
    ));
});

describe("another try", () => {
  it.each([
    ["a status of 500", { status: 500, body: { error: "out of memory" } }],
    ["a status of 503", { status: 503, text: "busy" }],
    ["a connection that is cut", "drop"],
  ] as const)("mends %s", (_name, first) =>
    withServer(
      (n) => (n < 2 ? first : { body: { results: documents } }),
      async ({ asked, url }) => {
        expect(await search(at(url))).toEqual(Result.succeed(documents));
        expect(asked.length).toBe(3);
      },
    ),
  );

  it("is made `retries` times at most", () =>
    withServer(
      () => ({ status: 500, body: { error: "out of memory" } }),
      async ({ asked, url }) => {
        expect(await failure(at(url))).toMatchObject({
          reason: "failed",
          message: "The retrieval server answered with status 500 (out of memory).",
        });
        expect(asked.length).toBe(3);
        await search(at(url, { retries: 0 }));
        expect(asked.length).toBe(4);
      },
    ));

  it("waits twice as long each time", () =>
    withServer(
      () => ({ status: 500 }),
      async ({ url }) => {
        const begun = performance.now();
        await search(at(url, { retryWaitMs: 20 }));
        expect(performance.now() - begun).toBeGreaterThan(20 + 40 - 5);
      },
    ));

  it.each([400, 404, 429])("is not made after a status of %d", (status) =>
    withServer(
      () => ({ status, body: { error: "no" } }),
      async ({ asked, url }) => {
        expect(await failure(at(url))).toMatchObject({
          reason: "refused",
          message: `The retrieval server answered with status ${status} (no).`,
        });
        expect(asked.length).toBe(1);
      },
    ),
  );

  it.each([
    ["no JSON", { text: "<html>" }],
    ["nothing", { text: "" }],
    ["an object of another kind", { body: { documents } }],
    ["results without a content", { body: { results: [{ id: "a" }] } }],
    ["a score that is no number", { body: { results: [{ content: "a", score: "high" }] } }],
    ["a list", { body: documents }],
  ])("is not made after an answer that is %s", (_name, answer) =>
    withServer(
      () => answer,
      async ({ asked, url }) => {
        expect(await failure(at(url))).toMatchObject({ reason: "nonsense" });
        expect(asked.length).toBe(1);
      },
    ),
  );

  it("is not made after an answer too long to be honest", () =>
    withServer(
      () => ({ text: " ".repeat(5 * 1024 * 1024) }),
      async ({ asked, url }) => {
        expect(await failure(at(url))).toMatchObject({ reason: "nonsense" });
        expect(asked.length).toBe(1);
      },
    ));
});

describe("a server that", () => {
  it("never answers costs the time limit", () =>
    withServer(
      () => null,
      async ({ url }) => {
        expect(await failure(at(url, { timeoutMs: 60 }))).toMatchObject({
          reason: "timeout",
          message: "The search took longer than 0.06 seconds.",
        });
      },
    ));

  it("fails again and again costs no more than the time limit", () =>
    withServer(
      () => ({ status: 500 }),
      async ({ url }) => {
        expect(await failure(at(url, { timeoutMs: 60, retries: 1000, retryWaitMs: 5 }))).toMatchObject({
          reason: "timeout",
        });
      },
    ));

  it("is not there cannot be reached", async () => {
    expect(await failure(at(await nobody()))).toMatchObject({
      reason: "unreachable",
      message: expect.stringContaining("the connection is refused"),
    });
  });

  it("nobody waits for any more has its request given up", () =>
    withServer(
      () => null,
      async ({ abandoned, asked, url }) => {
        const leaving = new AbortController();
        const waiting = Effect.runPromiseExit(retrieve(at(url), "q"), { signal: leaving.signal });
        await expect.poll(() => asked.length, patience).toBe(1);
        leaving.abort();
        expect(Exit.isFailure(await waiting)).toBe(true);
        await expect.poll(abandoned, patience).toBe(1);
      },
    ));
});

describe("the health of a server", () => {
  it("is good when /health says 200", () =>
    withServer(
      () => ({ body: { status: "healthy" } }),
      async ({ asked, url }) => {
        expect(await Effect.runPromise(healthProblem(at(url)))).toBeNull();
        expect(asked.map(({ method, path }) => [method, path])).toEqual([["GET", "/health"]]);
      },
    ));

  it.each([
    ["another status", { status: 503, body: { error: "loading" } }, "it answers with status 503 (loading)"],
    ["silence", null, "it does not answer in time"],
  ] as const)("is told for %s", (_name, answer, said) =>
    withServer(
      () => answer,
      async ({ url }) => {
        expect(await Effect.runPromise(healthProblem(at(url, { timeoutMs: answer === null ? 60 : 30_000 })))).toBe(
          said,
        );
      },
    ),
  );

  it("is told where nobody listens", async () => {
    expect(await Effect.runPromise(healthProblem(at(await nobody())))).toContain("the connection is refused");
  });
});
