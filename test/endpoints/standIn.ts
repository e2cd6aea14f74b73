/** A chat endpoint in this process that behaves as badly as a test asks: each request is answered by its script. */
import { createServer, type IncomingHttpHeaders, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { Effect } from "effect";

export interface Asked {
  /** From 0. */
  readonly nth: number;
  readonly path: string;
  readonly headers: IncomingHttpHeaders;
  readonly body: { readonly messages: readonly { readonly role: string; readonly content: string }[] } & Record<
    string,
    unknown
  >;
}

export type Script = (asked: Asked, response: ServerResponse) => void;

export interface StandIn {
  readonly url: string;
  readonly asked: Asked[];
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

export interface Reply {
  readonly text: string;
  readonly finish?: string;
  readonly prompt?: number;
  readonly tokens?: number;
}

/** A chat completion as OpenAI writes it. */
export const completion = ({ finish = "stop", prompt = 10, text, tokens = 5 }: Reply) => ({
  id: "chatcmpl-1",
  object: "chat.completion",
  choices: [{ index: 0, message: { role: "assistant", content: text }, finish_reason: finish }],
  usage: { prompt_tokens: prompt, completion_tokens: tokens, total_tokens: prompt + tokens },
});

export const says = (response: ServerResponse, reply: Reply): void => json(response, 200, completion(reply));

/** Faults, as an endpoint has them. */
export const faults = {
  busy: (response: ServerResponse, headers: Record<string, string> = {}) =>
    json(
      response,
      429,
      { error: { message: "Rate limit reached", type: "requests", code: "rate_limit_exceeded" } },
      headers,
    ),
  broken: (response: ServerResponse) => json(response, 500, { error: { message: "internal error" } }),
  nonsense: (response: ServerResponse) => {
    response.writeHead(200, { "content-type": "text/html" });
    response.end("<html>maintenance</html>");
  },
  /** Ends the connection within the body. */
  cut: (response: ServerResponse) => {
    response.writeHead(200, { "content-type": "application/json", "content-length": "100000" });
    response.write('{"choices":[{"mess');
    setImmediate(() => response.destroy());
  },
  /** Ends the connection without a status. */
  reset: (response: ServerResponse) => void response.destroy(),
} as const;

/** Serves while the scope lives. */
export const standIn = (script: Script) =>
  Effect.acquireRelease(
    Effect.promise(async (): Promise<StandIn> => {
      const asked: Asked[] = [];
      let open = 0;
      const server = createServer((request, response) => {
        open++;
        response.on("close", () => open--);
        const chunks: Buffer[] = [];
        request.on("data", (chunk: Buffer) => chunks.push(chunk));
        request.on("end", () => {
          const { headers, url = "" } = request;
          const one = { nth: asked.length, path: url, headers, body: JSON.parse(Buffer.concat(chunks).toString()) };
          asked.push(one);
          script(one, response);
        });
      });
      await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
      const die = () =>
        new Promise<void>((resolve) => {
          server.close(() => resolve());
          server.closeAllConnections();
        });
      return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, asked, open: () => open, die };
    }),
    ({ die }) => Effect.promise(die),
  );
