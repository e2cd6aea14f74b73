/** Environments of MCP servers: over standard input and output and over HTTP, their rewards, and servers that die, hang and lie. */
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { StreamableHTTPServerTransport } from "@modelcontextprotocol/sdk/server/streamableHttp.js";
import { Effect, Exit, Scope } from "effect";
import { afterEach, describe, expect, it } from "vitest";
import { stream } from "../../../src/domain/Random.ts";
import * as AsyncRunner from "../../../src/env/asynchronous/AsyncRunner.ts";
import { type BoundAsyncEnvironment, bindAsync } from "../../../src/env/contract/BoundEnvironment.ts";
import type { Answer } from "../../../src/env/contract/Request.ts";
import { toolCall } from "../../../src/env/contract/tools/ToolAction.ts";
import { processCount } from "../../../src/env/mcp/McpSession.ts";
import { mcpEnvironment } from "../../../src/env/mcp/mcpEnvironment.ts";
import { openCount } from "../../../src/env/mcp/Sessions.ts";
import { lacksSdk } from "../../../src/env/mcp/sdk.ts";
import { runCheck } from "../../../src/env/validate/Check.ts";
import { checks } from "../../../src/env/validate/main.ts";
import { makeServer } from "./fixtures/makeServer.ts";
import notes from "./fixtures/notes.ts";

/** Milliseconds on a machine that others use too. */
const patience = 60_000;

const instance = () => stream({ seed: 4, purpose: "instance", counters: [] });
const noise = instance();
const { signal } = new AbortController();

const bound = (mode: "" | "--silent" | "--broken" = ""): BoundAsyncEnvironment => bindAsync(notes, { mode });

/** Plays actions one after the other, and releases the last state. */
const play = async (environment: BoundAsyncEnvironment, ...actions: readonly string[]) => {
  const transitions = [];
  let state = await environment.reset(instance(), "train", signal);
  try {
    for (const action of actions) {
      const transition = await environment.step(state, action, noise, signal);
      transitions.push(transition);
      state = transition.state;
    }
  } finally {
    await environment.release?.(state);
  }
  return transitions;
};
const write = (name: string, text: string): string => toolCall("write", { name, text });
const read = (name: string): string => toolCall("read", { name });

afterEach(() => expect([openCount(), processCount()]).toEqual([0, 0]));

describe("a server over standard input and output", () => {
  it("is asked for its tools, on every page, and offers those that are named", { timeout: patience }, async () => {
    const described = await bound().describe?.();
    expect(described?.tools?.map(({ name }) => name)).toEqual(["write", "read"]);
    expect(described?.tools?.[1]).toEqual({
      name: "read",
      description: "Reads a note.",
      parameters: { type: "object", properties: { name: { type: "string" } }, required: ["name"] },
    });
  });

  it("plays an episode in a session of its own, which its reward may ask", { timeout: patience }, async () => {
    const environment = bound();
    const state = await environment.reset(instance(), "train", signal);
    const [, word = "", other = ""] = /^copy (\w+) to (\w+)$/.exec(environment.render(state)) ?? [];
    const secret = other.slice(0, 2);
    const transitions = await play(environment, read(word), write(other, secret), read("none"), secret);
    expect(transitions.map(({ result }) => result)).toEqual([secret, "2 notes", "no note none", undefined]);
    expect(transitions.map(({ info }) => info.action_is_valid)).toEqual([true, true, false, true]);
    expect(transitions.at(-1)).toMatchObject({ reward: 1, terminated: true, info: { success: true, calls: 3 } });
    const [alone] = await play(environment, "nothing");
    expect(alone).toMatchObject({ reward: 0, terminated: true, info: { success: false } });
    await expect(play(environment, write("a", "b"), "b")).rejects.toThrow("the tool read reports an error: no note");
  });

  it("shows refused arguments to the model, and what is no text by its kind", { timeout: patience }, async () => {
    const environment = bindAsync(
      mcpEnvironment({ ...fixtureParts, type: "all", reward: () => 1, render: () => "go" }),
      {},
    );
    const transitions = await play(environment, write("a", "refuse"), toolCall("picture", {}), toolCall("paint", {}));
    expect(transitions.map(({ result }) => result)).toEqual([
      expect.stringContaining("no such text"),
      "(image, not shown)",
      undefined,
    ]);
    // It is no tool of the server, so that the text is an answer.
    expect(transitions.at(-1)).toMatchObject({ terminated: true, reward: 1 });
  });

  it("changes nothing after the end, and goes on from the last state only", { timeout: patience }, async () => {
    const environment = bound();
    const start = await environment.reset(instance(), "train", signal);
    const first = await environment.step(start, write("a", "b"), noise, signal);
    const second = await environment.step(first.state, write("c", "d"), noise, signal);
    await expect(environment.step(first.state, read("c"), noise, signal)).rejects.toThrow("only from its last state");
    expect(openCount()).toBe(0);
    await expect(environment.step(second.state, read("c"), noise, signal)).rejects.toThrow("not held any more");
    const [ended, after] = await play(environment, "x", read("a"));
    expect(after).toMatchObject({ state: ended?.state, reward: 0, terminated: true, result: "the episode has ended" });
  });
});

const fixtureParts = {
  server: () => ({ command: process.execPath, args: [new URL("./fixtures/notesServer.ts", import.meta.url).pathname] }),
  reset: () => ({ asked: "nothing" }),
};

/** Steps an environment by the runner that plays a run's episodes. */
const runnerStep = async (environment: BoundAsyncEnvironment, ...actions: readonly string[]): Promise<Answer> => {
  const scope = Scope.makeUnsafe();
  const runner = await Effect.runPromise(Scope.provide(AsyncRunner.make(new Map([["Notes", environment]])), scope));
  const state = await environment.reset(instance(), "train", signal);
  const step = { tag: "Notes", state, actions, noise: noise.key };
  const answer = await Effect.runPromise(runner.call({ _tag: "Step", step }));
  await Effect.runPromise(Scope.close(scope, Exit.void));
  return answer;
};

/** Waits until no process is left. */
const noProcess = () => expect.poll(() => [openCount(), processCount()], { timeout: 10_000 }).toEqual([0, 0]);

describe("a server that", () => {
  it("dies fails the step with a sentence", { timeout: patience }, async () => {
    const answer = await runnerStep(bound(), write("a", "b"), write("a", "die"));
    expect(answer).toMatchObject({ _tag: "StepFailure", reason: "step_error" });
    expect(answer).toMatchObject({ message: expect.stringMatching(/notesServer\.ts: .*[Cc]onnection closed/) });
  });

  it("breaks fails the step, and so does a reward that throws or is no number", { timeout: patience }, async () => {
    expect(await runnerStep(bound(), write("a", "break"))).toMatchObject({
      reason: "step_error",
      message: expect.stringContaining("the disk is full"),
    });
    expect(await runnerStep(bound(), "throw")).toMatchObject({ reason: "step_error", message: "the judge is ill" });
    const parts = { ...fixtureParts, type: "odd", render: () => "go", reward: () => Number.NaN };
    expect(await runnerStep(bindAsync(mcpEnvironment(parts), {}), "x")).toMatchObject({
      reason: "step_error",
      message: expect.stringMatching(/^odd: reward gave NaN/),
    });
  });

  it("hangs in a call loses its episode to the time limit, and its process", { timeout: patience }, async () => {
    const parts = { ...fixtureParts, type: "hasty", render: () => "go", reward: () => 0, timeoutMs: 4_000 };
    const answer = await runnerStep(bindAsync(mcpEnvironment(parts), {}), write("a", "hang"));
    expect(answer).toMatchObject({ reason: "step_timeout", message: "no answer after 4000 ms" });
    await noProcess();
  });

  it("does not come up is named before the run, with what it said", { timeout: patience }, async () => {
    await expect(bound("--broken").describe?.()).rejects.toThrow(/notesServer\.ts --broken: .*no licence$/s);
    const parts = { ...fixtureParts, type: "hasty", render: () => "go", reward: () => 0, timeoutMs: 500 };
    const [script = ""] = fixtureParts.server().args;
    const server = () => ({ command: process.execPath, args: [script, "--silent"] });
    await expect(bindAsync(mcpEnvironment({ ...parts, server }), {}).describe?.()).rejects.toThrow(/--silent: /);
    const missing = () => ({ command: "no-such-program" });
    await expect(bindAsync(mcpEnvironment({ ...parts, server: missing }), {}).describe?.()).rejects.toThrow(
      /^no-such-program: .*ENOENT/,
    );
    await expect(
      bindAsync(mcpEnvironment({ ...parts, server: () => ({ url: "nowhere" }) }), {}).describe?.(),
    ).rejects.toThrow('"nowhere" is no address of a server');
    const unknown = bindAsync(mcpEnvironment({ ...parts, timeoutMs: 10_000, tools: ["erase"] }), {});
    await expect(unknown.describe?.()).rejects.toThrow("it has no tool erase; its tools: write, read, picture");
    await noProcess();
  });
});

/** Serves the notes over HTTP, a session for each client. */
const serveNotes = async () => {
  const sessions = new Map<string, StreamableHTTPServerTransport>();
  const keys: (string | undefined)[] = [];
  const http = createServer(async (request, response) => {
    const id = request.headers["mcp-session-id"];
    keys.push(request.headers.authorization);
    let transport = typeof id === "string" ? sessions.get(id) : undefined;
    if (transport === undefined) {
      const opened = new StreamableHTTPServerTransport({
        sessionIdGenerator: () => `s${sessions.size}`,
        onsessioninitialized: (name) => void sessions.set(name, opened),
        onsessionclosed: (name) => void sessions.delete(name),
      });
      // The SDK's own types of a transport differ where exact optional properties are asked for.
      await makeServer().connect(opened as Parameters<ReturnType<typeof makeServer>["connect"]>[0]);
      transport = opened;
    }
    await transport.handleRequest(request, response);
  });
  await new Promise<void>((resolve) => http.listen(0, "127.0.0.1", resolve));
  const { port } = http.address() as AddressInfo;
  const close = () => new Promise((resolve) => http.close(resolve).closeAllConnections());
  return { url: `http://127.0.0.1:${port}/mcp`, sessions, keys, close };
};

const remoteNotes = (url: string) =>
  bindAsync(
    mcpEnvironment({
      ...fixtureParts,
      type: "remote notes",
      server: () => ({ url, headers: { authorization: "Bearer x" } }),
      reset: (_config, random) => ({ secretNumber: `${random.int(1_000)}` }),
      render: (_config, { secretNumber }) => `write ${secretNumber}`,
      reward: (_config, { secretNumber }, { calls }) =>
        calls.some(({ arguments: { text } }) => text === secretNumber) ? 1 : 0,
    }),
    {},
  );

describe("a server over HTTP", () => {
  it("plays, is sent the headers, and is told when a session ends", { timeout: patience }, async () => {
    const { close, keys, sessions, url } = await serveNotes();
    const environment = remoteNotes(url);
    const secretNumber = environment
      .render(await environment.reset(instance(), "train", signal))
      .slice("write ".length);
    const transitions = await play(environment, write("a", secretNumber), read("a"), "done");
    expect(transitions.map(({ result }) => result)).toEqual(["1 notes", secretNumber, undefined]);
    expect(transitions.at(-1)).toMatchObject({ reward: 1, info: { success: true } });
    expect([sessions.size, new Set(keys)]).toEqual([0, new Set(["Bearer x"])]);
    await close();
    await expect(play(remoteNotes(url), read("a"))).rejects.toThrow(/^http:\/\/127\.0\.0\.1:\d+\/mcp: /);
  });

  it("keeps the promises of the contract", { timeout: patience }, async () => {
    const { close, url } = await serveNotes();
    const environment = await remoteNotes(url).describe?.();
    for (const check of checks) {
      const finding = await runCheck(check, { environment: environment!, actions: 4 });
      expect([check.name, finding.status, finding]).not.toContain("fail");
    }
    await close();
  });
});

describe("the SDK", () => {
  it("is named where it is not installed", async () => {
    const missing = Object.assign(new Error("Cannot find package"), { code: "ERR_MODULE_NOT_FOUND" });
    expect(await lacksSdk(() => Promise.reject(missing))).toEqual([
      "the tools of an MCP server need the package @modelcontextprotocol/sdk: npm install @modelcontextprotocol/sdk",
    ]);
    expect(await lacksSdk(() => Promise.reject(new Error("bad file")))).toEqual([
      "@modelcontextprotocol/sdk cannot be loaded: bad file",
    ]);
    expect(await lacksSdk()).toEqual([]);
  });
});
