/** Clients that mean harm, over real connections: each is refused or cut off, and the server goes on with the others. */
import { connect, type Socket } from "node:net";
import { afterEach, describe, expect, it, vi } from "vitest";
import { WebSocket } from "ws";
import type { ServerOptions } from "../../../src/env/openenv/Server.ts";
import { preset } from "../contract/presets.ts";
import { local, type Running, running } from "./serving.ts";

const lake = preset("FrozenLake");
const token = "0123456789abcdef";

let server: Running;
const opened: Socket[] = [];
const start = async (limits: Partial<ServerOptions> = {}): Promise<void> => {
  server = await running(lake, limits);
};
afterEach(async () => {
  for (const socket of opened.splice(0)) socket.destroy();
  await server.close();
});

interface Raw {
  readonly socket: Socket;
  /** All that came until the connection closed. */
  readonly heard: Promise<string>;
}

/** A connection that says `text` and listens. */
const say = (text: string | Buffer): Raw => {
  const socket = connect(server.port, "127.0.0.1", () => socket.write(text));
  opened.push(socket);
  let said = "";
  socket.on("data", (piece) => {
    said += piece.toString("latin1");
  });
  socket.on("error", () => undefined);
  return { socket, heard: new Promise((resolve) => socket.once("close", () => resolve(said))) };
};

const head = (lines: readonly string[], first = "POST /reset HTTP/1.1"): string =>
  [first, "host: localhost", ...lines, "", ""].join("\r\n");

const json = "content-type: application/json";

const upgrade = head(
  [
    "connection: upgrade",
    "upgrade: websocket",
    "sec-websocket-version: 13",
    "sec-websocket-key: dGhlIHNhbXBsZSBub25jZQ==",
  ],
  "GET /ws HTTP/1.1",
);

const statusOf = (answer: string): number | null => {
  const status = /^HTTP\/1\.1 (\d{3}) /.exec(answer)?.[1];
  return status === undefined ? null : Number(status);
};

/** Asks as an honest client does over both transports; rejects where the server gives the client up. */
const ask = async (headers: Readonly<Record<string, string>>): Promise<void> => {
  const response = await fetch(`${server.url}/reset`, {
    method: "POST",
    headers: { "content-type": "application/json", ...headers },
    body: '{"seed":3}',
  });
  expect(await response.json()).toMatchObject({ metadata: { seed: 3 } });
  const socket = new WebSocket(server.ws, { headers });
  const answer = new Promise((resolve, reject) => {
    socket.once("message", (data) => resolve(JSON.parse(String(data))));
    socket.once("error", reject);
  });
  socket.once("open", () => socket.send('{"type":"state"}'));
  expect(await answer).toMatchObject({ type: "state" });
  const closed = new Promise((resolve) => socket.once("close", resolve));
  socket.close();
  await closed;
};

/** The server answers an honest client. Under limits of a few milliseconds a busy machine may give an honest one up, which then asks again. */
const serves = (headers: Readonly<Record<string, string>> = {}): Promise<void> =>
  vi.waitFor(() => ask(headers), { timeout: 10_000, interval: 50 });

describe("a page in a browser", () => {
  const form = ["origin: http://evil.example", "content-type: text/plain", "content-length: 10", "connection: close"];

  it.for([
    ["by a form", head(form)],
    ["by a form without an origin", head(form.slice(1)), 415],
    ["by a name of its own that points here", head([json]).replace("localhost", "evil.example:80")],
    ["without a name", head([json]).replace("host: localhost\r\n", "").replace("1.1", "1.0")],
    ["from a file", head([json, "origin: null"])],
    ["of a program on this machine", head([json, "origin: http://localhost:3000"])],
    [
      "asking first",
      head(["origin: http://evil.example", "access-control-request-method: POST"], "OPTIONS /reset HTTP/1.1"),
    ],
    ["with a picture", head(["sec-fetch-site: cross-site"], "GET /state HTTP/1.1")],
    ["with two names", head([json, "host: evil.example"]), 400],
    [
      "behind two thousand headers",
      head([...Array(2_500).fill("a: 1"), "origin: http://evil.example"], "GET /state HTTP/1.1"),
    ],
  ] as const)("does not ask %s", async ([, request, status = 403]) => {
    await start();
    expect(statusOf(await say(request).heard)).toBe(status);
    expect(server.sessions()).toBe(0);
    await serves();
  });

  it.for([
    [{ origin: "http://evil.example" }, 403],
    [{ origin: "null" }, 403],
    [{ host: "evil.example" }, 403],
  ] as const)("gets no socket with %j", async ([headers, status]) => {
    await start();
    const socket = new WebSocket(server.ws, { headers });
    const error = await new Promise<Error>((resolve) => socket.once("error", resolve));
    expect(error.message).toContain(String(status));
    expect(server.sessions()).toBe(0);
    await serves();
  });

  it("that is allowed asks first, is told so, and reads what it is answered", async () => {
    const origin = "http://page.example";
    await start({ guard: { ...local, origins: [origin] } });
    const preflight = await fetch(`${server.url}/reset`, {
      method: "OPTIONS",
      headers: { origin, "access-control-request-method": "POST" },
    });
    expect([preflight.status, preflight.headers.get("access-control-allow-origin")]).toEqual([204, origin]);
    const answer = await fetch(`${server.url}/health`, { headers: { origin } });
    expect([answer.status, answer.headers.get("access-control-allow-origin")]).toEqual([200, origin]);
    await serves({ origin });
  });
});

describe("a client without the token", () => {
  it.for([{}, { authorization: "Bearer wrong" }, { authorization: `Basic ${token}` }])(
    "gets no answer and no socket with %j",
    async (headers) => {
      await start({ guard: { ...local, token } });
      for (const path of ["/health", "/state", "/metadata", "/nowhere"]) {
        const { headers: said, status } = await fetch(server.url + path, { headers });
        expect([status, said.get("www-authenticate")]).toEqual([401, "Bearer"]);
      }
      const socket = new WebSocket(server.ws, { headers });
      const error = await new Promise<Error>((resolve) => socket.once("error", resolve));
      expect(error.message).toContain("401");
      await serves({ authorization: `Bearer ${token}` });
    },
  );
});

describe("a connection", () => {
  it("beyond the most there may be is closed as it comes where the others are sessions", async () => {
    await start({ maxConnections: 3 });
    const three = [say(upgrade), say(upgrade), say(upgrade)];
    await expect.poll(() => server.sessions()).toBe(3);
    expect(await say(head([], "GET /health HTTP/1.1")).heard).toBe("");
    for (const { socket } of three) socket.destroy();
    await expect.poll(() => server.sessions()).toBe(0);
    await serves();
  });

  it("that is slow makes room for a session and for a request", async () => {
    await start({ maxConnections: 3 });
    const slow = Array.from({ length: 9 }, () => say("POST /reset HTTP/1.1\r\nhost: localhost\r\nx: "));
    await Promise.all(slow.map(({ socket }) => new Promise((resolve) => socket.once("connect", resolve))));
    await serves();
  });

  it.for([
    ["says nothing", ""],
    ["does not end its headers", "POST /reset HTTP/1.1\r\nhost: localhost\r\nx: "],
    ["does not end its body", `${head([json, "content-length: 100"])}{"seed"`],
    ["does not end its chunks", `${head([json, "transfer-encoding: chunked"])}5\r\n{"see\r\n`],
    ["sends no body", head([json, "content-length: 100", "expect: 100-continue"])],
  ] as const)("that %s is given up after a while", async ([, text]) => {
    await start({ requestMs: 100 });
    const answer = await say(text).heard;
    expect(answer.replace(/^HTTP\/1\.1 100 Continue\r\n\r\n/, "")).toMatch(/^HTTP\/1\.1 408 |^$/);
    expect(server.buffered()).toBe(0);
    await serves();
  });

  it("that drips its body is given up as well", async () => {
    await start({ requestMs: 150 });
    const { heard, socket } = say(head([json, "content-length: 100000"]));
    let drip: NodeJS.Timeout | undefined;
    socket.once("connect", () => {
      drip = setInterval(() => socket.write("x"), 10);
    });
    const answer = await heard;
    clearInterval(drip);
    // A drop that meets the closed connection resets it, and the system may drop the answer with it.
    expect(answer).toMatch(/^HTTP\/1\.1 408 |^$/);
    await serves();
  });

  it("that asks much before it is answered is cut off", async () => {
    await start();
    await say(head([], "GET /schema HTTP/1.1").repeat(64)).heard;
    await serves();
  });
});

describe("a request", () => {
  it.for([
    ["of more headers than there may be", head([`x: ${"y".repeat(20_000)}`], "GET /health HTTP/1.1"), 431],
    ["that says to be longer than it may", `${head([json, "content-length: 1000000"])}${"x".repeat(200_000)}`, 413],
    [
      "in chunks that never end",
      `${head([json, "transfer-encoding: chunked"])}${`10000\r\n${"x".repeat(65_536)}\r\n`.repeat(3)}`,
      413,
    ],
    ["of two lengths", `${head([json, "content-length: 3", "transfer-encoding: chunked"])}0\r\n\r\n`, 400],
    ["of a length that is none", head([json, "content-length: -1"]), 400],
    ["for a tunnel", head([], "CONNECT evil.example:443 HTTP/1.1"), null],
    ["for another protocol", "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", 400],
  ] as const)("%s is refused", async ([, text, status]) => {
    await start();
    expect(statusOf(await say(text).heard)).toBe(status);
    expect(server.buffered()).toBe(0);
    await serves();
  });

  it.for([
    ["/../../etc/passwd", 404],
    ["/..%2f..%2fetc%2fpasswd", 404],
    ["//evil.example/reset", 404],
    ["http://evil.example/health", 404],
    ["/health%00", 404],
    ["/\\..\\secret", 404],
    ["*", 404],
  ] as const)("for %s finds nothing", async ([path, status]) => {
    await start();
    expect(statusOf(await say(head(["connection: close"], `GET ${path} HTTP/1.1`)).heard)).toBe(status);
  });

  it.for(["PUT", "PATCH", "DELETE", "TRACE", "OPTIONS", "PROPFIND"])("by %s is not known", async (method) => {
    await start();
    expect(statusOf(await say(head(["connection: close"], `${method} /reset HTTP/1.1`)).heard)).toBe(405);
  });

  it("of JSON as deep as memory fails alone", async () => {
    await start();
    const body = `{"seed":${"[".repeat(90_000)}`;
    const answer = await say(`${head([json, "connection: close", `content-length: ${body.length}`])}${body}`).heard;
    expect(statusOf(answer)).toBe(422);
    await serves();
  });
});

describe("a thousand clients that send half a body each", () => {
  it("hold no more than all may together, and the others are refused", async () => {
    const most = 1_000_000;
    await start({ maxBufferedBytes: most, maxConnections: 1_100, requestMs: 60_000 });
    const half = `${head([json, "content-length: 20000"])}${"x".repeat(10_000)}`;
    const clients = Array.from({ length: 1_000 }, () => say(half));
    const statuses: (number | null)[] = [];
    let highest = 0;
    await new Promise<void>((resolve) => {
      for (const { heard } of clients) {
        void heard.then((answer) => {
          highest = Math.max(highest, server.buffered());
          // Fifty hold all there is.
          if (statuses.push(statusOf(answer)) === 900) resolve();
        });
      }
    });
    // A client that is still sending may find its connection reset before it reads the answer.
    expect(new Set(statuses.filter((status) => status !== null))).toEqual(new Set([503]));
    expect(highest).toBeGreaterThan(0);
    expect(highest).toBeLessThanOrEqual(most);
    for (const { socket } of clients) socket.destroy();
    await expect.poll(() => server.buffered()).toBe(0);
    await serves();
  });
});

/** A masked text frame's beginning: its header for `length` bytes, and `sent` of them. */
const frame = (length: number, sent: number): Buffer => {
  const header = Buffer.alloc(14);
  header.writeUInt8(0x81, 0);
  header.writeUInt8(0x80 | 127, 1);
  header.writeBigUInt64BE(BigInt(length), 2);
  return Buffer.concat([header, Buffer.alloc(sent, "x")]);
};

describe("sockets that send half a message each", () => {
  it("hold no more than all may together", async () => {
    const most = 200_000;
    await start({ maxBufferedBytes: most });
    const clients = Array.from({ length: 8 }, () => say(Buffer.concat([Buffer.from(upgrade), frame(90_000, 60_000)])));
    let cut = 0;
    await new Promise<void>((resolve) => {
      for (const { heard } of clients) void heard.then(() => (++cut === 5 ? resolve() : undefined));
    });
    expect(server.buffered()).toBeLessThanOrEqual(most);
    for (const { socket } of clients) socket.destroy();
    await expect.poll(() => [server.buffered(), server.sessions()]).toEqual([0, 0]);
    await serves();
  });

  it("are closed where a message has more pieces than it may", async () => {
    await start();
    const piece = (first: number): Buffer => Buffer.from([first, 0x81, 0, 0, 0, 0, 0x78]);
    const pieces = Buffer.concat([piece(0x01), ...Array.from({ length: 400 }, () => piece(0x00))]);
    await say(Buffer.concat([Buffer.from(upgrade), pieces])).heard;
    expect(server.sessions()).toBe(0);
    await serves();
  });

  it("are cut off where they do not close after they were turned away", async () => {
    await start({ maxSessions: 1 });
    const first = new WebSocket(server.ws);
    await new Promise((resolve) => first.once("open", resolve));
    expect(await say(upgrade).heard).toContain("CAPACITY_REACHED");
    first.terminate();
    await expect.poll(() => server.sessions()).toBe(0);
  });
});
