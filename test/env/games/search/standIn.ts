/**
 * A retrieval server for one test, on loopback. The test gives the answer to the n-th request, counted from 0; requests are recorded.
 * `null` never answers, "drop" cuts the connection.
 */
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";

export interface Answered {
  readonly status?: number;
  readonly body?: unknown;
  /** As it is, in place of `body`. */
  readonly text?: string;
}

export interface ReceivedRequest {
  readonly method: string;
  readonly path: string;
  readonly body: string;
}

export interface StandIn {
  readonly url: string;
  readonly asked: readonly ReceivedRequest[];
  /** Requests whose connection the client has closed without an answer. */
  readonly abandoned: () => number;
}

const listening = (server: Server): Promise<number> =>
  new Promise((resolve) => {
    server.listen(0, "127.0.0.1", () => resolve((server.address() as AddressInfo).port));
  });

export const withServer = async <A>(
  answer: (n: number, asked: ReceivedRequest) => Answered | "drop" | null,
  use: (server: StandIn) => Promise<A>,
): Promise<A> => {
  const requests: ReceivedRequest[] = [];
  let abandoned = 0;
  const server = createServer(async (request, response) => {
    let body = "";
    for await (const chunk of request) body += String(chunk);
    const one: ReceivedRequest = { method: request.method ?? "", path: request.url ?? "", body };
    const said = answer(requests.length, one);
    requests.push(one);
    response.on("close", () => {
      if (!response.writableEnded) abandoned++;
    });
    if (said === "drop") return void request.socket.destroy();
    if (said === null) return;
    response.writeHead(said.status ?? 200, { "content-type": "application/json" });
    response.end(said.text ?? JSON.stringify(said.body ?? {}));
  });
  const port = await listening(server);
  try {
    return await use({ url: `http://127.0.0.1:${port}`, asked: requests, abandoned: () => abandoned });
  } finally {
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
  }
};

/** An address without a listener. */
export const nobody = async (): Promise<string> =>
  withServer(
    () => null,
    async ({ url }) => url,
  );
