/** The server under all that serve: routes, limits, errors and the end. */
import { request } from "node:http";
import { connect, createServer } from "node:net";
import { Readable } from "node:stream";
import { Deferred, Effect, Exit, Scope } from "effect";
import { afterEach, describe, expect, it } from "vitest";
import { makeByteBudget } from "../../../src/support/http/ByteBudget.ts";
import { Problem } from "../../../src/support/http/Problem.ts";
import type { Route } from "../../../src/support/http/Route.ts";
import { type ServeOptions, serve } from "../../../src/support/http/serve.ts";

const open: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const close of open.splice(0)) await close();
});

const started = async (routes: readonly Route[], options: Partial<ServeOptions<never>> = {}) => {
  const scope = Scope.makeUnsafe();
  const close = (): Promise<void> => Effect.runPromise(Scope.close(scope, Exit.void));
  open.push(close);
  const serving = serve({
    host: "127.0.0.1",
    port: 0,
    limits: {
      connections: 16,
      requestMs: 5_000,
      keepAliveMs: 5_000,
      body: { maxBytes: 20, budget: makeByteBudget(1_000) },
    },
    guard: { isPublic: false, hosts: [], origins: [], token: null },
    routes,
    renderError: ({ message, status }) => ({ status, body: message }),
    ...options,
  });
  return { ...(await Effect.runPromise(Scope.provide(serving, scope))), close };
};

const get = (path: `/${string}`, handle: Route["handle"]): Route => ({ method: "GET", path, handle });
const text = (body: string) => ({ status: 200, body });

const ask = async (url: string, init?: RequestInit) => {
  const response = await fetch(url, init);
  return { status: response.status, text: await response.text(), headers: response.headers };
};

/** A request that goes its own way: `fetch` would make its path sensible, and cannot be cut off while it waits. */
const asking = (url: string, path: string) => {
  const reply = request(url, { path, agent: false });
  const status = new Promise<number>((resolve) => {
    reply.on("response", (response) => resolve(response.resume().statusCode ?? 0));
    reply.on("error", () => resolve(0));
  });
  reply.end();
  return { status, hangUp: () => reply.destroy() };
};

describe("a route", () => {
  const echo = get("/runs/:id/steps/:step", (_, id: string, step: string) => Effect.succeed(text(`${id} ${step}`)));

  it("has the parameters of its path, each decoded by itself", async () => {
    const { url } = await started([echo]);
    expect((await ask(`${url}/runs/a%2Fb/steps/7?step=8`)).text).toBe("a/b 7");
  });

  it.for([
    ["/runs/a/b/steps/7", 404],
    ["/Runs/a/steps/7", 404],
    ["/%72uns/a/steps/7", 404],
    ["/runs/a/steps/7/", 404],
    ["/runs/%/steps/7", 400],
    ["/runs/%00/steps/7", 400],
    ["http://127.0.0.1/runs/a/steps/7", 404],
  ] as const)("does not answer %s", async ([path, status]) => {
    const { url } = await started([echo]);
    expect(await asking(url, path).status).toBe(status);
  });

  it("answers HEAD as GET, without the body", async () => {
    const { url } = await started([get("/", () => Effect.succeed(text("whole")))]);
    const { headers, status, text: body } = await ask(url, { method: "HEAD" });
    expect([status, headers.get("content-length"), body]).toEqual([200, "5", ""]);
  });

  it("answers no other method, and says which it has", async () => {
    const { url } = await started([get("/", () => Effect.succeed(text("")))]);
    const { headers, status } = await ask(url, { method: "DELETE" });
    expect([status, headers.get("allow"), headers.get("connection")]).toEqual([405, "GET", "close"]);
  });

  it("reads a body of JSON, up to the limit", async () => {
    const { url } = await started([
      { method: "POST", path: "/", handle: (request) => Effect.map(request.text, (body) => text(body)) },
    ]);
    const post = (body: string, type = "application/json") =>
      ask(url, { method: "POST", body, headers: { "content-type": type } });
    expect(await post("[1]")).toMatchObject({ status: 200, text: "[1]" });
    expect(await post("x".repeat(21))).toMatchObject({ status: 413, text: "a body may have 20 bytes" });
    expect((await post("[1]", "text/plain")).status).toBe(415);
  });
});

describe("a handler", () => {
  it.for([
    ["fails with a problem", () => Effect.fail(new Problem({ status: 409, message: "no" })), 409, "no"],
    ["throws one", () => Effect.promise(() => Promise.reject(new Problem({ status: 409, message: "no" }))), 409, "no"],
    ["has an error of its own", () => Effect.die(new Error("secret")), 500, "this could not be answered"],
  ] as const)("that %s gives that reply, and the server goes on", async ([, handle, status, said]) => {
    const { url } = await started([get("/", handle), get("/next", () => Effect.succeed(text("next")))]);
    expect(await ask(url)).toMatchObject({ status, text: said });
    expect(await ask(`${url}/next`)).toMatchObject({ status: 200, text: "next" });
  });

  it("is interrupted when its client hangs up", async () => {
    const begun = Deferred.makeUnsafe<void>();
    const interrupted = Deferred.makeUnsafe<void>();
    const wait = Effect.andThen(Deferred.succeed(begun, undefined), Effect.never);
    const { url } = await started([
      get("/", () => Effect.onInterrupt(wait, () => Deferred.succeed(interrupted, undefined))),
    ]);
    const { hangUp } = asking(url, "/");
    await Effect.runPromise(Deferred.await(begun));
    hangUp();
    await Effect.runPromise(Deferred.await(interrupted));
  });

  it("may take longer than a client may be silent", async () => {
    const limits = { connections: 16, requestMs: 30, keepAliveMs: 30 };
    const slow = Effect.as(Effect.sleep(200), text("at last"));
    const { url } = await started([get("/", () => slow)], { limits });
    expect((await ask(url)).text).toBe("at last");
  });

  it("is one of so many at once, and a request beyond them is refused", async () => {
    const begun = Deferred.makeUnsafe<void>();
    const go = Deferred.makeUnsafe<void>();
    const wait = Effect.as(Effect.andThen(Deferred.succeed(begun, undefined), Deferred.await(go)), text("done"));
    const limits = { connections: 16, requestMs: 5_000, keepAliveMs: 5_000, requests: 1 };
    const { url } = await started([get("/", () => wait)], { limits });
    const first = ask(url);
    await Effect.runPromise(Deferred.await(begun));
    expect((await ask(url)).status).toBe(503);
    await Effect.runPromise(Deferred.succeed(go, undefined));
    expect((await first).text).toBe("done");
    expect((await ask(url)).text).toBe("done");
  });
});

describe("a body", () => {
  it("that is a stream ends when its client hangs up", async () => {
    const closed = Deferred.makeUnsafe<void>();
    const endless = new Readable({
      read() {
        this.push("x".repeat(1_000));
      },
    });
    endless.once("close", () => Deferred.doneUnsafe(closed, Exit.void));
    const { url } = await started([get("/", () => Effect.succeed({ status: 200, body: endless }))]);
    const { hangUp, status } = asking(url, "/");
    expect(await status).toBe(200);
    hangUp();
    await Effect.runPromise(Deferred.await(closed));
  });

  it("is written as it comes about, and its head is there before", async () => {
    let write = (_: string): void => undefined;
    const { url } = await started([
      get("/", () =>
        Effect.succeed({
          status: 200,
          body: (response) => {
            response.flushHeaders();
            write = (said) => void response.end(said);
          },
        }),
      ),
    ]);
    const response = await fetch(url);
    write("later");
    expect(await response.text()).toBe("later");
  });
});

describe("the end of the scope", () => {
  const slow = (go: Deferred.Deferred<void>, begun: Deferred.Deferred<void>) =>
    get("/", () => Effect.as(Effect.andThen(Deferred.succeed(begun, undefined), Deferred.await(go)), text("done")));

  it("waits for a request under way, and frees the port", async () => {
    const [go, begun] = [Deferred.makeUnsafe<void>(), Deferred.makeUnsafe<void>()];
    const { close, port, url } = await started([slow(go, begun)], { closeGraceMs: 10_000 });
    const reply = ask(url, { headers: { connection: "close" } });
    await Effect.runPromise(Deferred.await(begun));
    const closed = close();
    await Effect.runPromise(Deferred.succeed(go, undefined));
    expect((await reply).text).toBe("done");
    await closed;
    const next = createServer().listen(port, "127.0.0.1");
    await new Promise((resolve) => next.once("listening", resolve));
    next.close();
  });

  it("cuts what is not done after the goodbye, other protocols too", async () => {
    const [go, begun] = [Deferred.makeUnsafe<void>(), Deferred.makeUnsafe<void>()];
    const events: string[] = [];
    const { close, port, url } = await started([slow(go, begun)], {
      closeGraceMs: 10,
      upgrades: { "/raw": (_, socket) => void socket.write("HTTP/1.1 101 Switching Protocols\r\n\r\n") },
      onClose: () => events.push("closing"),
    });
    const reply = asking(url, "/");
    const socket = connect(port, "127.0.0.1");
    socket.on("error", () => undefined);
    socket.write("GET /raw HTTP/1.1\r\nhost: localhost\r\nconnection: upgrade\r\nupgrade: raw\r\n\r\n");
    await new Promise((resolve) => socket.once("data", resolve));
    await Effect.runPromise(Deferred.await(begun));
    const gone = new Promise((resolve) => socket.once("close", resolve));
    await close();
    await gone;
    expect([await reply.status, events]).toEqual([0, ["closing"]]);
  });
});
