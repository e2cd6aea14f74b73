/** A fault of a server costs the request that meets it, with a reason, and leaves no session behind. */
import { afterEach, describe, expect, it } from "vitest";
import type { BoundAsyncEnvironment } from "../../../src/env/contract/BoundEnvironment.ts";
import * as Sessions from "../../../src/env/openenv/Sessions.ts";
import { instanceOf, noiseOf } from "../contract/players.ts";
import { preset } from "../contract/presets.ts";
import { patient, rejection, remote, running } from "./serving.ts";
import { json, observe, type Script, type StandIn, say, standIn } from "./standIn.ts";

const closing: { readonly close: () => Promise<void> }[] = [];
const started = async (script: Script): Promise<StandIn> => {
  const server = await standIn(script);
  closing.push(server);
  return server;
};
afterEach(async () => {
  for (const server of closing.splice(0)) await server.close();
  expect(Sessions.openCount()).toBe(0);
});

const reset = (environment: BoundAsyncEnvironment, signal = patient()) =>
  environment.reset(instanceOf(3), "train", signal);
const step = (environment: BoundAsyncEnvironment, state: unknown, signal = patient()) =>
  environment.step(state, "go", noiseOf(3, 0, 0), signal);

/** A server that answers resets well, and steps as told. */
const stepping = (hear: NonNullable<Script["hear"]>): Script => ({
  hear: (socket, message, nth) => {
    if (message.type === "reset") observe(socket, { text: "start" });
    else hear(socket, message, nth);
  },
});

describe("a reset is rejected when the server", () => {
  it("is not there", async () => {
    const { close, url } = await standIn({});
    await close();
    expect(await rejection(reset(remote(url)))).toMatchObject({
      reason: "unreachable",
      message: expect.stringContaining(url.replace("http", "ws")),
    });
    expect(await rejection(reset(remote(url, { transport: "http" })))).toMatchObject({ reason: "unreachable" });
  });

  it("refuses the socket", async () => {
    const { url } = await started({ refuse: 403 });
    expect(await rejection(reset(remote(url)))).toMatchObject({
      reason: "unreachable",
      message: expect.stringContaining("403"),
    });
  });

  it("says nothing", async () => {
    const { url } = await started({ http: () => undefined });
    expect(await rejection(reset(remote(url, { request_timeout_ms: 40 })))).toMatchObject({ reason: "timeout" });
    const http = remote(url, { transport: "http", request_timeout_ms: 40 });
    expect(await rejection(reset(http))).toMatchObject({ reason: "timeout" });
  });

  it("is full", async () => {
    const full = { message: "1/1 sessions active", code: "CAPACITY_REACHED", active_sessions: 1, max_sessions: 1 };
    const { url } = await started({
      accept: (socket) => {
        say(socket, { type: "error", data: full });
        socket.close();
      },
      http: (_request, _body, response) => json(response, 503, { detail: full.message, code: full.code }),
    });
    expect(await rejection(reset(remote(url)))).toMatchObject({
      reason: "capacity",
      message: expect.stringContaining("1/1"),
    });
    expect(await rejection(reset(remote(url, { transport: "http" })))).toMatchObject({ reason: "capacity" });
  });

  it("fails by itself", async () => {
    const { url } = await started({
      hear: (socket) => say(socket, { type: "error", data: { message: "no data set", code: "EXECUTION_ERROR" } }),
      http: (_request, _body, response) => json(response, 500, { detail: "no data set" }),
    });
    const expected = { reason: "refused", message: expect.stringContaining("no data set") };
    expect(await rejection(reset(remote(url)))).toMatchObject(expected);
    expect(await rejection(reset(remote(url, { transport: "http" })))).toMatchObject(expected);
  });

  it.for([
    ["no JSON", "<html>"],
    ["no object", "[1, 2]"],
    ["no message", JSON.stringify({ hello: "world" })],
    ["an observation that is none", JSON.stringify({ type: "observation", data: { observation: "text" } })],
    ["a reward that overflows", '{"type":"observation","data":{"observation":{},"reward":1.7e308}}'],
    ["a reward that is none", JSON.stringify({ type: "observation", data: { observation: {}, reward: "much" } })],
    ["the state", JSON.stringify({ type: "state", data: {} })],
  ] as const)("sends %s", async ([, text]) => {
    const { url } = await started({
      hear: (socket) => socket.send(text),
      http: (_request, _body, response) => response.end(text),
    });
    expect(await rejection(reset(remote(url)))).toMatchObject({ reason: "nonsense" });
    expect(await rejection(reset(remote(url, { transport: "http" })))).toMatchObject({ reason: "nonsense" });
  });

  it("sends binary data", async () => {
    const { url } = await started({ hear: (socket) => socket.send(Buffer.from([1, 2, 3])) });
    expect(await rejection(reset(remote(url)))).toMatchObject({ reason: "nonsense" });
  });

  it("claims to be ours and lacks a field", async () => {
    const { url } = await started({
      hear: (socket) =>
        say(socket, { type: "observation", data: { observation: { text: "a" }, metadata: { source: "millrace" } } }),
    });
    expect(await rejection(reset(remote(url)))).toMatchObject({ reason: "nonsense" });
  });

  it("sends a message that is too long", async () => {
    const { url } = await started({
      hear: (socket) => observe(socket, { text: "x".repeat(5_000) }),
      http: (_request, _body, response) => json(response, 200, { observation: { text: "x".repeat(5_000) } }),
    });
    const keys = { max_message_bytes: 1_000 };
    expect(await rejection(reset(remote(url, keys)))).toMatchObject({ reason: "limit" });
    expect(await rejection(reset(remote(url, { ...keys, transport: "http" })))).toMatchObject({ reason: "limit" });
  });

  it("keeps nothing over HTTP", async () => {
    const { url } = await started({
      http: (_request, _body, response) =>
        json(response, 200, { observation: { text: "a" }, reward: null, done: false }),
    });
    expect(await rejection(reset(remote(url, { transport: "http" })))).toMatchObject({
      reason: "refused",
      message: expect.stringContaining("transport to ws"),
    });
  });
});

describe("a step is rejected when the server", () => {
  const failing = async (hear: NonNullable<Script["hear"]>, keys: Readonly<Record<string, unknown>> = {}) => {
    const { url } = await started(stepping(hear));
    const environment = remote(url, keys);
    return await rejection(step(environment, await reset(environment)));
  };

  it("is slow", async () => {
    expect(await failing(() => undefined, { request_timeout_ms: 60 })).toMatchObject({ reason: "timeout" });
  });

  it("goes away", async () => {
    expect(await failing((socket) => socket.terminate())).toMatchObject({ reason: "disconnected" });
  });

  it("ends the session", async () => {
    const end = await failing((socket) => {
      say(socket, { type: "error", data: { message: "idle", code: "SESSION_ERROR" } });
      socket.close();
    });
    expect(end).toMatchObject({ reason: "refused", message: expect.stringContaining("SESSION_ERROR") });
  });

  it("sends nonsense", async () => {
    expect(await failing((socket) => socket.send("what?"))).toMatchObject({ reason: "nonsense" });
  });

  it("sends more than a session may", async () => {
    const { url } = await started(stepping((socket) => observe(socket, { text: "on" }, 0)));
    const environment = remote(url, { max_session_messages: 2 });
    const { state } = await step(environment, await reset(environment));
    expect(await rejection(step(environment, state))).toMatchObject({ reason: "limit" });
  });

  it("shows another start for the same seed", async () => {
    const { url } = await started({ hear: (socket, _message, nth) => observe(socket, { text: `start ${nth}` }) });
    const environment = remote(url);
    expect(await rejection(step(environment, await reset(environment)))).toMatchObject({
      reason: "nondeterministic",
      message: expect.stringContaining("not deterministic in its seed"),
    });
  });

  it("answered before it was asked", async () => {
    const { url } = await started({
      hear: (socket) => {
        observe(socket, { text: "start" });
        observe(socket, { text: "more" });
      },
    });
    const environment = remote(url);
    const outcome = await reset(environment).then(
      (state) => rejection(step(environment, state)),
      (error) => error,
    );
    expect(outcome).toMatchObject({ reason: "nonsense" });
  });
});

describe("the client", () => {
  it("gives up at once when nobody waits any more", async () => {
    const { url } = await started({ http: () => undefined });
    for (const transport of ["ws", "http"]) {
      const controller = new AbortController();
      const resetting = reset(remote(url, { transport }), controller.signal);
      setTimeout(() => controller.abort(), 20);
      expect(await rejection(resetting)).toMatchObject({ reason: "aborted" });
    }
  });

  it("tries again to open a session, but never to step", async () => {
    let steps = 0;
    const { connections, url } = await started({
      accept: (socket, nth) => {
        if (nth < 2) socket.terminate();
      },
      hear: (socket, { type }) => {
        if (type === "reset") return observe(socket, { text: "start" });
        steps++;
        socket.terminate();
      },
    });
    const environment = remote(url, { retries: 3 });
    const state = await reset(environment);
    expect(connections()).toBe(3);
    expect(await rejection(step(environment, state))).toMatchObject({ reason: "disconnected" });
    expect(steps).toBe(1);
  });

  it("does not ask again a server that talks nonsense", async () => {
    const { connections, url } = await started({ hear: (socket) => socket.send("what?") });
    await rejection(reset(remote(url, { retries: 3 })));
    expect(connections()).toBe(1);
  });

  it("gets a session of a full server that has room again", async () => {
    const server = await running(preset("FrozenLake"), { maxSessions: 1 });
    closing.push(server);
    const environment = remote(server.url, { retries: 8, retry_wait_ms: 20 });
    const start = await environment.reset(instanceOf(3), "train", patient());
    const members = [0, 1].map((member) => environment.step(start, "Up", noiseOf(3, member, 0), patient()));
    const first = await Promise.race(members);
    await environment.release?.(first.state);
    for (const { state } of await Promise.all(members)) await environment.release?.(state);
    expect(server.sessions()).toBe(0);
  });

  it("steps only the last state of an episode", async () => {
    const server = await running(preset("FrozenLake"));
    closing.push(server);
    const environment = remote(server.url);
    const start = await environment.reset(instanceOf(3), "train", patient());
    const go = (state: unknown) => environment.step(state, "Up", noiseOf(3, 0, 0), patient());
    const { state: first } = await go(start);
    const { state: second } = await go(first);
    expect(await rejection(go(first))).toMatchObject({
      reason: "session",
      message: expect.stringContaining("last state"),
    });
    expect(await rejection(go(second))).toMatchObject({
      reason: "session",
      message: expect.stringContaining("not held"),
    });
  });

  it("lets the members of a group play at once, each in a session of its own", async () => {
    const server = await running(preset("FrozenLake"));
    closing.push(server);
    const environment = remote(server.url);
    const start = await environment.reset(instanceOf(10_000), "train", patient());
    expect(server.sessions()).toBe(0);
    const members = await Promise.all(
      [0, 1, 2].map((member) => environment.step(start, "Up", noiseOf(1, member, 0), patient())),
    );
    expect(server.sessions()).toBe(3);
    await Promise.all(members.map(({ state }) => environment.release?.(state)));
    expect(server.sessions()).toBe(0);
  });

  it("releases a session once, and does not mind to be told twice", async () => {
    const server = await running(preset("FrozenLake"));
    closing.push(server);
    const environment = remote(server.url);
    const start = await environment.reset(instanceOf(3), "train", patient());
    await environment.release?.(start);
    const { state } = await environment.step(start, "Up", noiseOf(3, 0, 0), patient());
    await environment.release?.(state);
    await environment.release?.(state);
    expect(Sessions.openCount()).toBe(0);
  });
});
