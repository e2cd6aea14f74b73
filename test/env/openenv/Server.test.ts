/** Our server speaks OpenEnv: what a client of any project sends and gets. */
import { connect as netConnect } from "node:net";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { WebSocket } from "ws";
import type { ServerOptions } from "../../../src/env/openenv/Server.ts";
import { instanceOf } from "../contract/players.ts";
import { preset } from "../contract/presets.ts";
import { type Running, running } from "./serving.ts";

const lake = preset("FrozenLake");

/** A bare socket whose answers are awaited one by one. */
const connect = async (url: string) => {
  const socket = new WebSocket(url);
  const answers: unknown[] = [];
  const waiting: ((answer: unknown) => void)[] = [];
  socket.on("message", (data) => {
    const answer = JSON.parse(data.toString());
    const next = waiting.shift();
    if (next === undefined) answers.push(answer);
    else next(answer);
  });
  const closed = new Promise<number>((resolve) => socket.on("close", resolve));
  await new Promise((resolve, reject) => {
    socket.once("open", resolve);
    socket.once("error", reject);
  });
  const hear = (): Promise<unknown> =>
    answers.length > 0 ? Promise.resolve(answers.shift()) : new Promise((resolve) => waiting.push(resolve));
  const ask = (message: unknown): Promise<unknown> => {
    socket.send(typeof message === "string" ? message : JSON.stringify(message));
    return hear();
  };
  return { ask, hear, closed, socket };
};

let server: Running;
const start = async (limits: Partial<ServerOptions> = {}): Promise<void> => {
  await server?.close();
  server = await running(lake, limits);
};
beforeEach(async () => {
  server = await running(lake);
});
afterEach(() => server.close());

describe("over a socket, the server", () => {
  it("answers reset, step and state as OpenEnv does", async () => {
    const { ask } = await connect(server.ws);
    const text = lake.render(lake.reset(instanceOf(5), "train"));
    expect(await ask({ type: "reset", data: { seed: 5, episode_id: "mine" } })).toMatchObject({
      type: "observation",
      data: {
        observation: { text, legal_actions: ["Left", "Down", "Right", "Up"], info: {} },
        reward: null,
        done: false,
      },
    });
    expect(await ask({ type: "step", data: { action: "Left" } })).toMatchObject({
      type: "observation",
      data: { observation: { info: { action_is_valid: true } }, reward: expect.any(Number), done: expect.any(Boolean) },
    });
    expect(await ask({ type: "state" })).toEqual({ type: "state", data: { episode_id: "mine", step_count: 1 } });
  });

  it("plays the instance and the noise of a bare seed, the same every time", async () => {
    const episode = async (): Promise<unknown[]> => {
      const { ask, socket } = await connect(server.ws);
      const heard = [await ask({ type: "reset", data: { seed: 7 } })];
      for (const action of ["Up", "Left", "Down"]) heard.push(await ask({ type: "step", data: { action } }));
      socket.close();
      return heard;
    };
    expect(await episode()).toEqual(await episode());
  });

  it("counts up the seeds of resets that name none", async () => {
    const { ask } = await connect(server.ws);
    const heard = [await ask({ type: "reset", data: {} }), await ask({ type: "reset" })];
    expect(heard).toMatchObject([{ data: { metadata: { seed: 0 } } }, { data: { metadata: { seed: 1 } } }]);
  });

  it("ends the session on close, without an answer", async () => {
    const { closed, socket } = await connect(server.ws);
    socket.send(JSON.stringify({ type: "close" }));
    expect(await closed).toBe(1000);
    expect(server.sessions()).toBe(0);
  });

  it.for([
    ["{", "INVALID_JSON"],
    [{ type: "dance" }, "UNKNOWN_TYPE"],
    [[1], "UNKNOWN_TYPE"],
    [{ type: "step" }, "VALIDATION_ERROR"],
    [{ type: "state", data: {} }, "VALIDATION_ERROR"],
    [{ type: "reset", data: { seed: -1 } }, "VALIDATION_ERROR"],
    [{ type: "step", data: { action: "Left", force: 2 } }, "VALIDATION_ERROR"],
    [{ type: "step", data: { action: "sideways" } }, "VALIDATION_ERROR"],
  ] as const)("answers %j with %s and goes on", async ([message, code]) => {
    const { ask } = await connect(server.ws);
    await ask({ type: "reset", data: { seed: 1 } });
    expect(await ask(message)).toMatchObject({ type: "error", data: { code, message: expect.any(String) } });
    expect(await ask({ type: "state" })).toMatchObject({ type: "state", data: { step_count: 0 } });
  });

  it("says where a message does not fit", async () => {
    const { ask } = await connect(server.ws);
    expect(await ask({ type: "reset", data: { seed: "x" } })).toMatchObject({
      data: { code: "VALIDATION_ERROR", errors: [{ loc: ["seed"] }] },
    });
  });

  it("answers a step before the first reset with EXECUTION_ERROR", async () => {
    const { ask } = await connect(server.ws);
    expect(await ask({ type: "step", data: { action: "Left" } })).toMatchObject({ data: { code: "EXECUTION_ERROR" } });
  });

  it("is full at its most sessions, says so as OpenEnv does, and has room again afterwards", async () => {
    await start({ maxSessions: 2 });
    const first = await connect(server.ws);
    await connect(server.ws);
    const third = await connect(server.ws);
    expect(await third.hear()).toMatchObject({
      type: "error",
      data: { code: "CAPACITY_REACHED", active_sessions: 2, max_sessions: 2 },
    });
    expect(await third.closed).toBe(1000);
    expect(server.sessions()).toBe(2);
    first.socket.close();
    await first.closed;
    const fourth = await connect(server.ws);
    expect(await fourth.ask({ type: "state" })).toMatchObject({ type: "state" });
  });

  it("ends a session that is idle for too long", async () => {
    await start({ idleMs: 30 });
    const { closed, hear } = await connect(server.ws);
    expect(await hear()).toMatchObject({ type: "error", data: { code: "SESSION_ERROR" } });
    expect(await closed).toBe(1000);
    expect(server.sessions()).toBe(0);
  });

  it("ends an episode of too many steps", async () => {
    await start({ maxSteps: 2 });
    const { ask, closed } = await connect(server.ws);
    await ask({ type: "reset", data: { seed: 1 } });
    for (const action of ["Up", "Up"]) {
      expect(await ask({ type: "step", data: { action } })).toMatchObject({ type: "observation" });
    }
    expect(await ask({ type: "step", data: { action: "Up" } })).toMatchObject({ data: { code: "SESSION_ERROR" } });
    expect(await closed).toBe(1000);
  });

  it("closes on a message that is too long, with the code for it", async () => {
    await start({ maxMessageBytes: 1_000 });
    const { closed, socket } = await connect(server.ws);
    socket.send(JSON.stringify({ type: "reset", data: { note: "x".repeat(2_000) } }));
    expect(await closed).toBe(1009);
    expect(server.sessions()).toBe(0);
  });

  it("keeps two clients apart", async () => {
    const [a, b] = [await connect(server.ws), await connect(server.ws)];
    await a.ask({ type: "reset", data: { seed: 1, episode_id: "a" } });
    await b.ask({ type: "reset", data: { seed: 2, episode_id: "b" } });
    await a.ask({ type: "step", data: { action: "Up" } });
    expect(await a.ask({ type: "state" })).toMatchObject({ data: { episode_id: "a", step_count: 1 } });
    expect(await b.ask({ type: "state" })).toMatchObject({ data: { episode_id: "b", step_count: 0 } });
  });

  it("tells its clients when it ends, and frees its port", async () => {
    const { closed } = await connect(server.ws);
    const { port } = server;
    await server.close();
    expect(await closed).toBe(1001);
    const again = await running(lake, { port });
    expect(again.port).toBe(port);
    await again.close();
  });

  it.for(["GET // HTTP/1.1", "GET /elsewhere HTTP/1.1", "GET http:// HTTP/1.1", "nonsense"])(
    "survives a client that says %s and hangs up",
    async (line) => {
      const { port } = server;
      await new Promise<void>((resolve) => {
        const socket = netConnect(port, "127.0.0.1", () => {
          socket.write(`${line}\r\nhost: localhost\r\nconnection: upgrade\r\nupgrade: websocket\r\n\r\n`);
          socket.once("data", () => socket.destroy());
        });
        socket.once("close", () => resolve());
      });
      const { ask } = await connect(server.ws);
      expect(await ask({ type: "state" })).toMatchObject({ type: "state" });
    },
  );

  it("accepts a socket nowhere but at /ws", async () => {
    await expect(connect(server.ws.replace("/ws", "/elsewhere"))).rejects.toThrow("404");
  });
});

const get = async (path: string): Promise<{ readonly status: number; readonly body: unknown }> => {
  const response = await fetch(server.url + path);
  return { status: response.status, body: await response.json() };
};
const json = { "content-type": "application/json" };
const post = async (path: string, body: unknown): Promise<{ readonly status: number; readonly body: unknown }> => {
  const text = typeof body === "string" ? body : JSON.stringify(body);
  const response = await fetch(server.url + path, { method: "POST", headers: json, body: text });
  return { status: response.status, body: await response.json() };
};

describe("over HTTP, the server", () => {
  it("is healthy, and says what it serves", async () => {
    expect(await get("/health")).toEqual({ status: 200, body: { status: "healthy" } });
    expect(await get("/metadata")).toMatchObject({ status: 200, body: { name: "Test", version: "1", author: null } });
  });

  it("answers what `openenv validate` asks of a server", async () => {
    expect(await get("/openapi.json")).toMatchObject({
      status: 200,
      body: { info: { version: "1.0.0" }, paths: { "/reset": {}, "/step": {}, "/state": {}, "/health": {} } },
    });
    expect(await post("/mcp", {})).toMatchObject({ status: 200, body: { jsonrpc: "2.0", id: null, error: {} } });
    expect(await post("/mcp", { jsonrpc: "2.0", id: 7, method: "tools/list" })).toMatchObject({ body: { id: 7 } });
  });

  it("gives the JSON schemas of action, observation and state", async () => {
    expect((await get("/schema")).body).toMatchObject({
      action: { type: "object", required: ["action"] },
      observation: { properties: { text: { type: "string" } } },
      state: { properties: { step_count: { type: "integer" } } },
    });
  });

  it("resets without keeping anything where no episode is named", async () => {
    expect(await post("/reset", { seed: 3 })).toMatchObject({ status: 200, body: { reward: null, done: false } });
    expect(await post("/reset", "")).toMatchObject({ status: 200 });
    expect(server.sessions()).toBe(0);
    expect(await post("/step", { action: { action: "Left" } })).toMatchObject({ status: 409 });
    expect(await get("/state")).toEqual({ status: 200, body: { episode_id: null, step_count: 0 } });
  });

  it("keeps an episode by its name until it is closed", async () => {
    await post("/reset", { seed: 3, episode_id: "e" });
    expect(await post("/step", { action: { action: "Left" }, episode_id: "e", timeout_s: 5 })).toMatchObject({
      status: 200,
    });
    expect(await get("/state?episode_id=e")).toEqual({ status: 200, body: { episode_id: "e", step_count: 1 } });
    expect(await post("/close", { episode_id: "e" })).toEqual({ status: 200, body: { closed: true } });
    expect(await post("/step", { action: { action: "Left" }, episode_id: "e" })).toMatchObject({ status: 404 });
    expect(server.sessions()).toBe(0);
  });

  it("shares its sessions between sockets and episodes kept by name", async () => {
    await start({ maxSessions: 1 });
    const { socket, closed } = await connect(server.ws);
    expect(await post("/reset", { seed: 1, episode_id: "e" })).toMatchObject({
      status: 503,
      body: { code: "CAPACITY_REACHED", active_sessions: 1, max_sessions: 1 },
    });
    socket.close();
    await closed;
    expect(await post("/reset", { seed: 1, episode_id: "e" })).toMatchObject({ status: 200 });
    expect(await post("/reset", { seed: 2, episode_id: "e" })).toMatchObject({ status: 200 });
  });

  it.for([
    ["/reset", "{", 422],
    ["/reset", { seed: -4 }, 422],
    ["/step", { action: "Left" }, 422],
    ["/step", { action: { action: "sideways" }, episode_id: "e" }, 422],
    ["/nowhere", {}, 404],
    ["/health", {}, 405],
  ] as const)("answers a POST to %s of %j with %i", async ([path, body, status]) => {
    await post("/reset", { seed: 1, episode_id: "e" });
    expect(await post(path, body)).toMatchObject({ status, body: { detail: expect.anything() } });
  });

  it("does not read a body that is too long, and closes its connection", async () => {
    await start({ maxMessageBytes: 1_000 });
    const response = await fetch(`${server.url}/reset`, {
      method: "POST",
      headers: json,
      body: "x".repeat(2_000_000),
    });
    expect(response.status).toBe(413);
    expect(response.headers.get("connection")).toBe("close");
    expect(await response.json()).toEqual({ detail: "a body may have 1000 bytes" });
  });

  it("takes a body of exactly the longest length", async () => {
    await start({ maxMessageBytes: 1_000 });
    const body = JSON.stringify({ seed: 1 });
    expect(await post("/reset", body.padEnd(1_000))).toMatchObject({ status: 200 });
    expect(await post("/reset", body.padEnd(1_001))).toMatchObject({ status: 413 });
  });

  it.for(["/health/", "//health", "/HEALTH", "/", "/health/more", "/%68ealth", "/%", "/health;a=1"])(
    "has nothing at %s",
    async (path) => {
      expect(await get(path)).toEqual({ status: 404, body: { detail: "Not Found" } });
    },
  );

  it("answers a method that a path does not have with 405", async () => {
    expect(await get("/reset")).toEqual({ status: 405, body: { detail: "Method Not Allowed" } });
    const response = await fetch(`${server.url}/health`, { method: "DELETE" });
    expect(response.status).toBe(405);
  });

  it("answers HEAD as GET, without the body", async () => {
    const response = await fetch(`${server.url}/health`, { method: "HEAD" });
    expect(response.status).toBe(200);
    expect(response.headers.get("content-type")).toBe("application/json");
    expect(await response.text()).toBe("");
  });

  it("goes on after a client that hangs up within its body", async () => {
    await new Promise<void>((resolve) => {
      const socket = netConnect(server.port, "127.0.0.1", () => {
        socket.write(
          'POST /reset HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\ncontent-length: 100\r\n\r\n{"seed"',
          () => socket.destroy(),
        );
      });
      socket.once("close", () => resolve());
    });
    expect(await post("/reset", { seed: 1 })).toMatchObject({ status: 200 });
  });

  it("ends though a client has sent half of a body", async () => {
    const socket = netConnect(server.port, "127.0.0.1");
    const closed = new Promise<void>((resolve) => socket.once("close", () => resolve()));
    socket.on("error", () => undefined);
    socket.resume();
    await new Promise<void>((resolve) => {
      socket.write(
        'POST /reset HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\ncontent-length: 100\r\n\r\n{"seed"',
        () => resolve(),
      );
    });
    await server.close();
    await closed;
  });
});
