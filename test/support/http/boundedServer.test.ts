/** Clients that are slow with their requests: they make room for others, and are given up after a while. */
import { readFileSync } from "node:fs";
import type { IncomingMessage, ServerResponse } from "node:http";
import { request } from "node:https";
import { connect, type Socket } from "node:net";
import { Effect } from "effect";
import { afterEach, describe, expect, it } from "vitest";
import { boundedServer, type Certificate, type ServerLimits } from "../../../src/support/http/boundedServer.ts";
import { listen } from "../../../src/support/http/listen.ts";

const most = 20;
/** Longer than any test here, so that nobody is given up by time. */
const patient: ServerLimits = { connections: most, requestMs: 60_000, keepAliveMs: 60_000 };

const endings: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const end of endings.splice(0)) await end();
});

/** Answers `/held` when the test says so, and everything else at once. */
const started = async (limits: Partial<ServerLimits> = {}, certificate: Certificate | null = null) => {
  const openResponses: ServerResponse[] = [];
  const onRequest = (request: IncomingMessage, response: ServerResponse): void => {
    request.resume();
    if (request.url === "/held") openResponses.push(response);
    else request.once("end", () => response.end("answered"));
  };
  const server = boundedServer({ ...patient, ...limits }, { onRequest }, certificate);
  const port = await Effect.runPromise(listen(server, "127.0.0.1", 0));
  endings.push(
    () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  );
  return { port, openResponses };
};

interface Client {
  readonly socket: Socket;
  /** All that came until the connection closed. */
  readonly heard: Promise<string>;
}

const say = (port: number, text: string): Client => {
  const socket = connect(port, "127.0.0.1");
  socket.write(text);
  endings.unshift(async () => void socket.destroy());
  let heard = "";
  socket.on("data", (piece) => {
    heard += piece.toString("latin1");
  });
  socket.on("error", () => undefined);
  return { socket, heard: new Promise((resolve) => socket.once("close", () => resolve(heard))) };
};

const head = (path: string, ...lines: string[]): string =>
  [`POST ${path} HTTP/1.1`, "host: localhost", ...lines, "", ""].join("\r\n");

const honest = (port: number): Promise<string> => say(port, head("/", "connection: close")).heard;

/** A connection whose request is whole and not answered. */
const holding = async (port: number, openResponses: readonly ServerResponse[]): Promise<Client> => {
  const before = openResponses.length;
  const client = say(port, head("/held"));
  await expect.poll(() => openResponses.length).toBe(before + 1);
  return client;
};

describe("connections that do not send a whole request", () => {
  it.for([
    ["nothing", "", ""],
    ["a part of a head", "POST / HTTP/1.1\r\nhost: localhost\r\nx: ", "x"],
    ["a part of a body", head("/", "content-length: 100000"), "x"],
    ["a part of a body in chunks", head("/", "transfer-encoding: chunked"), "1\r\nx\r\n"],
    ["a whole request, and a part of the next", `${head("/")}POST / HTTP/1.1\r\nx: `, "x"],
  ] as const)("but %s shut nobody out, however many they are", async ([, text, drip]) => {
    const { port } = await started();
    const slow = Array.from({ length: 3 * most }, () => say(port, text));
    const drips = setInterval(() => {
      for (const { socket } of slow) if (!socket.destroyed) socket.write(drip);
    }, 5);
    let closed = 0;
    for (const { heard } of slow) void heard.then(() => closed++);
    await expect.poll(() => closed).toBe(2 * most);
    for (let time = 0; time < 5; time++) expect(await honest(port)).toContain("answered");
    clearInterval(drips);
    // One made room, and each honest client leaves it to the next.
    await expect.poll(() => closed).toBe(2 * most + 1);
  });

  it("close in the order in which they came", async () => {
    const { port } = await started({ connections: 2 });
    const order: number[] = [];
    for (const index of [0, 1, 2, 3]) {
      const { heard, socket } = say(port, "POST / HTTP/1.1\r\n");
      void heard.then(() => order.push(index));
      await new Promise((resolve) => socket.once("connect", resolve));
      await expect.poll(() => order.length).toBe(Math.max(0, index - 1));
    }
    expect(order).toEqual([0, 1]);
  });

  it("never close one that waits for its answer", async () => {
    const { openResponses, port } = await started({ connections: 3 });
    const waiting = await holding(port, openResponses);
    for (let time = 0; time < 10; time++) say(port, "POST / HTTP/1.1\r\n");
    expect(await honest(port)).toContain("answered");
    openResponses[0]?.end("at last");
    await expect.poll(() => waiting.socket.bytesRead).toBeGreaterThan(0);
    waiting.socket.end();
    expect(await waiting.heard).toContain("at last");
  });

  it("are given up after a while, though they go on sending", async () => {
    const { port } = await started({ requestMs: 100 });
    const { heard, socket } = say(port, "POST / HTTP/1.1\r\nhost: localhost\r\nx: ");
    const drip = setInterval(() => socket.write("x"), 10);
    expect(await heard).toMatch(/^HTTP\/1\.1 408 /);
    clearInterval(drip);
  });
});

describe("connections with TLS", () => {
  const fixture = (name: string): Buffer => readFileSync(new URL(`../../fixtures/tls/${name}.pem`, import.meta.url));
  const certificate: Certificate = { cert: fixture("cert"), key: fixture("key") };
  const ask = (port: number): Promise<number | undefined> =>
    new Promise((resolve, reject) => {
      const options = { host: "127.0.0.1", port, servername: "localhost", ca: certificate.cert, agent: false };
      const sent = request(options, (response) => response.resume().once("end", () => resolve(response.statusCode)));
      sent.once("error", reject).end();
    });

  it("that do not end their handshakes shut nobody out", async () => {
    const { port } = await started({}, certificate);
    const slow = Array.from({ length: 3 * most }, () => say(port, "\x16\x03"));
    let closed = 0;
    for (const { heard } of slow) void heard.then(() => closed++);
    await expect.poll(() => closed).toBe(2 * most);
    expect(await ask(port)).toBe(200);
    expect(await ask(port)).toBe(200);
  });

  it("are given up where their handshakes take too long", async () => {
    const { port } = await started({ requestMs: 100 }, certificate);
    expect(await say(port, "\x16\x03").heard).toBe("");
  });
});

describe("a connection", () => {
  it("is closed as it comes where all others have their requests whole", async () => {
    const { openResponses, port } = await started({ connections: 2 });
    const clients = [await holding(port, openResponses), await holding(port, openResponses)];
    expect(await honest(port)).toBe("");
    for (const response of openResponses) response.end("at last");
    for (const { socket } of clients) await expect.poll(() => socket.bytesRead).toBeGreaterThan(0);
    expect(await honest(port)).toContain("answered");
  });

  it("that was answered before its body had come waits again", async () => {
    const { openResponses, port } = await started({ connections: 1 });
    const { heard, socket } = say(port, head("/held", "content-length: 10"));
    await expect.poll(() => openResponses.length).toBe(1);
    openResponses[0]?.end("too long");
    await expect.poll(() => socket.bytesRead).toBeGreaterThan(0);
    socket.write("0123456789");
    expect(await honest(port)).toContain("answered");
    expect(await heard).toContain("too long");
  });

  it("that asks a seventeenth time before it is answered is closed", async () => {
    const { openResponses, port } = await started();
    await say(port, head("/held").repeat(17)).heard;
    expect(openResponses.length).toBe(16);
  });
});
