/** The client against a stand-in that speaks the protocol: what is asked, what is understood, what is tried again. */
import { Effect } from "effect";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { check, healthProblem, type KiminaFailure, longestMs } from "../../../../src/env/games/lean/KiminaServer.ts";
import { configWith } from "./config.ts";
import { type StandIn, standIn } from "./standIn.ts";

let server: StandIn;
beforeEach(async () => {
  vi.stubEnv("LEAN_SERVER_API_KEY", undefined);
  server = await standIn();
});
afterEach(async () => {
  vi.unstubAllEnvs();
  await server.close();
});

const script = (...tactics: readonly string[]): string =>
  ["import Mathlib", "", "theorem t : True := by", ...tactics.map((tactic) => `  ${tactic}`), ""].join("\n");

const keys = (more: Readonly<Record<string, unknown>> = {}) => configWith({ server_url: server.url, ...more });
const ask = (tactics: readonly string[], more: Readonly<Record<string, unknown>> = {}) =>
  Effect.runPromise(check(keys(more), "t-1", script(...tactics)));
const failure = (tactics: readonly string[], more: Readonly<Record<string, unknown>> = {}): Promise<KiminaFailure> =>
  Effect.runPromise(Effect.flip(check(keys(more), "t-1", script(...tactics))));

const busy = { status: 429, body: '{"detail":"No available REPLs"}' };
const broken = { status: 500, body: "Internal Server Error" };

describe("a check", () => {
  it("asks /api/check for one snippet and one result", async () => {
    expect(await ask(["qed"])).toEqual({ accepted: true, success: true, timedOut: false, messages: [] });
    expect(server.asked).toEqual([
      {
        path: "/api/check",
        authorization: undefined,
        body: { snippets: [{ id: "t-1", code: script("qed") }], timeout: 30, debug: false, reuse: true },
      },
    ]);
  });

  it("asks /verify as older servers expect", async () => {
    expect((await ask(["qed"], { protocol: "verify" })).success).toBe(true);
    expect(server.asked[0]).toMatchObject({
      path: "/verify",
      body: { codes: [{ custom_id: "t-1", proof: script("qed") }], timeout: 30, disable_cache: false },
    });
  });

  it("asks for whole seconds, rounded up", async () => {
    await ask(["qed"], { request_timeout: 2.2 });
    expect(server.asked[0]?.body).toMatchObject({ timeout: 3 });
  });

  it.each(["check", "verify"])("understands what Lean says by %s", async (protocol) => {
    const open = await ask(["intro"], { protocol });
    expect(open).toMatchObject({ accepted: true, success: false });
    expect(open.messages[0]).toMatchObject({ severity: "error", data: "unsolved goals\np q : Prop\n⊢ q ∧ p" });
    expect(await ask(["intro", "nonsense"], { protocol })).toMatchObject({ accepted: false, success: false });
    expect(await ask(["sorry"], { protocol })).toMatchObject({ accepted: false, success: false });
    expect(await ask(["admit"], { protocol })).toMatchObject({ accepted: false, success: false });
  });

  it("of a proof that takes Lean too long is a verdict", async () => {
    const verdict = await ask(["loop"]);
    expect(verdict).toMatchObject({ accepted: false, success: false, timedOut: true });
    expect(verdict.messages[0]?.data).toContain("timed out in 30 seconds");
    expect(server.asked.length).toBe(1);
  });

  it("that Lean's REPL cannot run is a rejection", async () => {
    expect(await ask(["confuse"])).toMatchObject({
      accepted: false,
      messages: [{ severity: "error", data: "Unknown environment." }],
    });
  });

  it("shows the key of the configuration, or that of the surroundings", async () => {
    const locked = await standIn({ key: "open sesame" });
    const config = configWith({ server_url: `${locked.url}/`, api_key: "open sesame" });
    expect((await Effect.runPromise(check(config, "a", script("qed")))).success).toBe(true);
    const refused = await Effect.runPromise(Effect.flip(check(configWith({ server_url: locked.url }), "a", "")));
    expect(refused.message).toBe(
      "the Lean server answered with status 401 (Missing API key); env_config.api_key is its key",
    );
    vi.stubEnv("LEAN_SERVER_API_KEY", "open sesame");
    const fromSurroundings = configWith({ server_url: locked.url });
    expect((await Effect.runPromise(check(fromSurroundings, "a", script("qed")))).success).toBe(true);
    expect(locked.asked.length).toBe(3);
    await locked.close();
  });
});

describe("a server in trouble", () => {
  it("is asked again while it is busy, broken, cut off or talks nonsense", async () => {
    for (const illness of [busy, broken, "cut", { status: 200, body: "<html>" }] as const) {
      server.ill.push(illness, illness);
      expect((await ask(["qed"])).success).toBe(true);
    }
    expect(server.asked.length).toBe(12);
  });

  it("is asked max_retries times in all, and then is a failure in words", async () => {
    server.ill.push(busy, busy, busy);
    const { message, reason } = await failure(["qed"]);
    expect([reason, message]).toEqual(["busy", "the Lean server answered with status 429 (No available REPLs)"]);
    expect(server.asked.length).toBe(3);
    server.ill.push(broken);
    expect((await failure(["qed"], { max_retries: 1 })).reason).toBe("failed");
    expect(server.asked.length).toBe(4);
  });

  it("that is silent fails within http_timeout", async () => {
    server.ill.push("silent");
    const { message, reason } = await failure(["qed"], { max_retries: 1, request_timeout: 0.05, http_timeout: 0.05 });
    expect([reason, message]).toEqual(["timeout", "the Lean server did not answer within 0.05 seconds"]);
    await server.gone;
  });

  it("that cannot load the imports in time fails: no tactic is to blame", async () => {
    expect(await failure(["imports"])).toMatchObject({ reason: "timeout" });
    expect(server.asked.length).toBe(3);
  });

  it.each([
    ["no result", { results: [] }],
    ["another's result", { results: [{ id: "other", response: { env: 0 } }] }],
    ["a result of nothing", { results: [{ id: "t-1" }] }],
    [
      "messages of another kind",
      { results: [{ id: "t-1", response: { messages: [{ severity: "fatal", data: "x" }] } }] },
    ],
  ])("that sends %s talks nonsense", async (_, value) => {
    server.ill.push({ status: 200, body: JSON.stringify(value) });
    expect((await failure(["qed"], { max_retries: 1 })).reason).toBe("nonsense");
  });

  it("that reports an error of its own has failed", async () => {
    server.ill.push({ status: 200, body: JSON.stringify({ results: [{ id: "t-1", error: "Broken pipe" }] }) });
    expect(await failure(["qed"], { max_retries: 1 })).toMatchObject({
      reason: "failed",
      message: "the Lean server failed: Broken pipe",
    });
  });

  it("that has no such path is named, with the key to set, and asked once", async () => {
    const older = configWith({ server_url: `${server.url}/elsewhere` });
    const { message } = await Effect.runPromise(Effect.flip(check(older, "t-1", script())));
    expect(message).toContain("status 404 (Not Found); env_config.protocol=verify");
    expect(server.asked.length).toBe(1);
  });

  it("loses the request as soon as nobody waits for it", async () => {
    server.ill.push("silent");
    const leaving = new AbortController();
    const asking = Effect.runPromise(check(keys(), "t-1", script("qed")), { signal: leaving.signal });
    while (server.asked.length === 0) await new Promise(setImmediate);
    leaving.abort();
    await expect(asking).rejects.toThrow();
    await server.gone;
  });
});

describe("longestMs", () => {
  it("holds every attempt and the waits between them, which double up to ten seconds", () => {
    expect(longestMs(configWith({ retry_wait: 1 }))).toBe(1000 * (3 * 60 + 1 + 2 + 1));
    expect(longestMs(configWith({ retry_wait: 4, max_retries: 5, request_timeout: 1, http_timeout: 1 }))).toBe(
      1000 * (5 + 4 + 8 + 10 + 10 + 1),
    );
  });
});

describe("the health of a server", () => {
  it("has no problem where the server is well", async () => {
    expect(await Effect.runPromise(healthProblem(keys()))).toBeNull();
  });

  it("is a sentence where another server answers in its place", async () => {
    const unwell = await standIn({ health: { status: "starting" } });
    expect(await Effect.runPromise(healthProblem(configWith({ server_url: unwell.url })))).toBe(
      `what answers at ${unwell.url} is no Lean server, or not a healthy one`,
    );
    await unwell.close();
    expect(await Effect.runPromise(healthProblem(keys({ server_url: `${server.url}/elsewhere` })))).toBe(
      "the Lean server answered with status 404 (Not Found); it is no Lean server",
    );
  });

  it("names the address where nobody answers", async () => {
    await server.close();
    const said = await Effect.runPromise(healthProblem(keys()));
    expect(said).toContain(`the Lean server at ${server.url} cannot be reached: `);
    expect(said).toContain("the connection is refused");
  });
});
