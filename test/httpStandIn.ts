/** An HTTP server of a test's own on this machine: it reads each request whole, and answers as it is told. */
import { createServer, type IncomingHttpHeaders, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";

export interface Arrived {
  /** With its query. */
  readonly path: string;
  readonly headers: IncomingHttpHeaders;
  /** Empty where there is none. */
  readonly text: string;
}

export interface Listening {
  readonly url: string;
  readonly port: number;
  /** Requests without an answer at the moment. */
  readonly open: () => number;
  /** Ends every connection and takes no more. */
  readonly die: () => Promise<void>;
}

export const json = (
  response: ServerResponse,
  status: number,
  body: unknown,
  headers: Record<string, string> = {},
): void => {
  response.writeHead(status, { "content-type": "application/json", ...headers });
  response.end(JSON.stringify(body));
};

/** Listens at a port, or at any that is free. */
export const listening = async (
  answer: (arrived: Arrived, response: ServerResponse) => void,
  port = 0,
): Promise<Listening> => {
  let open = 0;
  const server = createServer((request, response) => {
    open++;
    response.on("close", () => open--);
    const chunks: Buffer[] = [];
    request.on("data", (chunk: Buffer) => chunks.push(chunk));
    request.on("end", () => {
      const { headers, url = "" } = request;
      answer({ path: url, headers, text: Buffer.concat(chunks).toString() }, response);
    });
  });
  await new Promise<void>((resolve) => server.listen(port, "127.0.0.1", resolve));
  const at = (server.address() as AddressInfo).port;
  const die = () =>
    new Promise<void>((resolve) => {
      server.close(() => resolve());
      server.closeAllConnections();
    });
  return { url: `http://127.0.0.1:${at}`, port: at, open: () => open, die };
};
