/** The one HTTP client: what it sends, what it takes of a reply and how it fails. */
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { Effect, Exit } from "effect";
import { afterEach, describe, expect, it } from "vitest";
import { asPromise, type HttpFailure, type HttpRequest, send } from "../../../src/support/http/send.ts";
import { readSources, specifiers } from "../../imports.ts";

const closing: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const close of closing.splice(0)) await close();
});

/** A server that answers as told, and how many requests it has under way. */
const serving = async (answer: (request: IncomingMessage, body: string, response: ServerResponse) => void) => {
  let open = 0;
  const server = createServer((request, response) => {
    open++;
    response.on("close", () => open--);
    const chunks: Buffer[] = [];
    request.on("data", (chunk: Buffer) => chunks.push(chunk));
    request.on("end", () => answer(request, Buffer.concat(chunks).toString(), response));
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  closing.push(
    () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  );
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/`, open: () => open };
};

const asking = (url: string, more: Partial<HttpRequest> = {}) => send({ method: "GET", url, maxBytes: 1_000, ...more });
const failing = (url: string, more: Partial<HttpRequest> = {}): Promise<HttpFailure> =>
  Effect.runPromise(Effect.flip(asking(url, more)));
const nobody = async (): Promise<string> => {
  const { url } = await serving(() => undefined);
  await closing.pop()?.();
  return url;
};

describe("a request", () => {
  it("carries its JSON and its headers, and no trace of ours", async () => {
    const { url } = await serving(({ headers, method }, body, response) =>
      response.end(JSON.stringify({ method, headers, body })),
    );
    const { body, status } = await Effect.runPromise(
      asking(url, { method: "POST", json: { a: "ä" }, headers: { authorization: "Bearer k" } }),
    );
    const heard = JSON.parse(body ?? "");
    expect(status).toBe(200);
    expect(heard).toMatchObject({ method: "POST", body: '{"a":"ä"}' });
    expect(heard.headers).toMatchObject({ "content-type": "application/json", authorization: "Bearer k" });
    expect([heard.headers.traceparent, heard.headers.b3]).toEqual([undefined, undefined]);
  });

  it("is answered by whatever status there is, with a body or without", async () => {
    const { url } = await serving((_request, _body, response) => {
      response.writeHead(204);
      response.end();
    });
    expect(await Effect.runPromise(asking(url))).toMatchObject({ status: 204, body: "" });
  });

  it("takes a body up to the limit, and none beyond", async () => {
    const { url } = await serving((_request, _body, response) => response.end("x".repeat(1_000)));
    expect((await Effect.runPromise(asking(url))).body).toHaveLength(1_000);
    expect(await Effect.runPromise(asking(url, { maxBytes: 999 }))).toMatchObject({ status: 200, body: null });
  });

  it("is aborted where the body has no end", async () => {
    const { open, url } = await serving((_request, _body, response) => {
      const more = (): unknown => response.destroyed || response.write("x".repeat(1_000), more);
      more();
    });
    expect((await Effect.runPromise(asking(url))).body).toBeNull();
    await expect.poll(open).toBe(0);
  });

  it("does not halve a character that comes in two pieces", async () => {
    const [first, second] = [Buffer.from("ä").subarray(0, 1), Buffer.from("ä").subarray(1)];
    const { url } = await serving((_request, _body, response) => {
      response.write(first, () => setTimeout(() => response.end(second), 20));
    });
    expect((await Effect.runPromise(asking(url))).body).toBe("ä");
  });
});

describe("a request fails", () => {
  it("as unreachable where nobody listens", async () => {
    expect(await failing(await nobody())).toMatchObject({
      reason: "unreachable",
      message: "the connection is refused",
    });
  });

  it("as disconnected where the connection breaks within the body", async () => {
    const { url } = await serving((_request, _body, response) => {
      response.writeHead(200, { "content-length": "100" });
      response.write("begun", () => setTimeout(() => response.destroy(), 20));
    });
    expect(await failing(url)).toMatchObject({ reason: "disconnected" });
  });

  it("as a timeout before the status and within the body", async () => {
    const { open, url } = await serving(({ url: path }, _body, response) => {
      if (path === "/body") response.write("begun");
    });
    const expected = { reason: "timeout", message: "no answer after 60 ms" };
    expect(await failing(url, { timeoutMs: 60 })).toMatchObject(expected);
    expect(await failing(`${url}body`, { timeoutMs: 60 })).toMatchObject(expected);
    await expect.poll(open).toBe(0);
  });
});

describe("an interrupted request", () => {
  it.for(["", "body"])("reaches its server as an abort (/%s)", async (path) => {
    const { open, url } = await serving((_request, _body, response) => {
      if (path === "body") response.write("begun");
    });
    const controller = new AbortController();
    const reply = Effect.runPromiseExit(asking(url + path), { signal: controller.signal });
    await expect.poll(open).toBe(1);
    controller.abort();
    expect(Exit.isFailure(await reply)).toBe(true);
    await expect.poll(open).toBe(0);
  });

  it("rejects a promise with what its caller says", async () => {
    const { url } = await serving(() => undefined);
    const controller = new AbortController();
    const reply = asPromise(asking(url), controller.signal, () => new Error("given up"));
    controller.abort();
    await expect(reply).rejects.toThrow("given up");
  });

  it("is told from one that failed", async () => {
    const reply = asPromise(asking(await nobody()), new AbortController().signal, () => new Error("given up"));
    await expect(reply).rejects.toMatchObject({ reason: "unreachable" });
  });
});

describe("Effect's unstable HTTP modules", () => {
  it("are imported by one file each", () => {
    const importers = new Map<string, string[]>();
    for (const { path, text } of readSources("src", "pipelines")) {
      for (const name of specifiers(text)) {
        if (!/^effect\/(http|http-api|socket)\b|^@effect\/platform-node\/NodeHttp/.test(name)) continue;
        importers.set(name, [...(importers.get(name) ?? []), path]);
      }
    }
    expect(importers.size).toBeGreaterThan(3);
    expect([...importers].filter(([, paths]) => paths.length > 1)).toEqual([]);
  });
});
