import { createServer, type RequestListener, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { Effect, Redacted } from "effect";
import { afterEach, describe, expect, it } from "vitest";
import { Client } from "../../../../src/observe/sinks/wandb/Client.ts";
import { overFetch } from "../../../../src/observe/sinks/wandb/Http.ts";
import { KEY } from "./support.ts";

let server: Server | undefined;
afterEach(() => {
  server?.closeAllConnections();
  server?.close();
});

const clientOf = async (listener: RequestListener, deadlineMs = 5000): Promise<Client> => {
  const newServer = createServer(listener);
  server = newServer;
  await new Promise<void>((resolve) => newServer.listen(0, "127.0.0.1", resolve));
  const { port } = newServer.address() as AddressInfo;
  return new Client({ baseUrl: `http://127.0.0.1:${port}/`, apiKey: Redacted.make(KEY), http: overFetch, deadlineMs });
};

const remote = { entity: "a team", project: "p", id: "r" };
const failureOf = (client: Client) => Effect.runPromise(Effect.flip(client.stream(remote, "{}")));

describe("requests over HTTP", () => {
  it("go to the run's address with the key as the password of `api`", async () => {
    const seen: unknown[] = [];
    const client = await clientOf((request, response) => {
      seen.push([request.method, request.url, request.headers.authorization, request.headers["content-type"]]);
      response.end("{}");
    });
    await Effect.runPromise(client.stream(remote, "{}"));
    const credentials = Buffer.from(`api:${KEY}`).toString("base64");
    expect(seen).toEqual([["POST", "/files/a%20team/p/r/file_stream", `Basic ${credentials}`, "application/json"]]);
  });

  it("may be made again after a connection that is cut, before and in the middle of the answer", async () => {
    let requests = 0;
    const client = await clientOf((request, response) => {
      requests++;
      if (requests === 1) request.socket.destroy();
      else if (requests === 2) {
        response.writeHead(200, { "content-length": "100" });
        response.write("{");
        setImmediate(() => request.socket.destroy());
      } else response.end("{}");
    });
    expect(await failureOf(client)).toMatchObject({ again: true });
    expect(await failureOf(client)).toMatchObject({ again: true });
    await Effect.runPromise(client.stream(remote, "{}"));
  });

  it("end at their deadline where the answer never ends", async () => {
    const client = await clientOf((_, response) => {
      response.writeHead(200);
      response.write("{");
    }, 50);
    expect(await failureOf(client)).toMatchObject({ again: true, message: "no answer within 0.05 s" });
  });

  it("follow no redirect: the key goes nowhere else", async () => {
    const requests: unknown[] = [];
    const client = await clientOf((request, response) => {
      requests.push(request.url);
      response.writeHead(302, { location: "/elsewhere" }).end();
    });
    expect(await failureOf(client)).toMatchObject({ again: false, message: "HTTP 302" });
    expect(requests).toHaveLength(1);
  });

  it("tell what a server refuses, and what may help later", async () => {
    const answers = [
      [400, false],
      [401, false],
      [404, false],
      [408, true],
      [429, true],
      [500, true],
      [503, true],
    ] as const;
    let next = 0;
    const client = await clientOf((_, response) => {
      response.writeHead(answers[next]![0], { "retry-after": "7" }).end(" not\nnow ");
    });
    for (; next < answers.length; next++) {
      const [status, again] = answers[next]!;
      expect(await failureOf(client)).toMatchObject({ again, afterMs: 7000, message: `HTTP ${status} not now` });
    }
  });

  it("take an answer with errors, or none of W&B's, for a failure", async () => {
    const run = { id: "r", entity: "", project: "p", group: "", name: "n", tags: [], host: "h", config: "{}" };
    let text = '{"data":{"upsertBucket":null},"errors":[{"message":"permission denied"}]}';
    const client = await clientOf((_, response) => response.end(text));
    const failure = () => Effect.runPromise(Effect.flip(client.upsert(run)));
    expect(await failure()).toMatchObject({ again: false, message: "permission denied" });
    text = "<html>";
    expect(await failure()).toMatchObject({ again: true, message: "an answer that is none of W&B's" });
  });
});
