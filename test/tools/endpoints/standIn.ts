/** A chat endpoint in this process that behaves as badly as a test asks: each request is answered by its script. */
import type { IncomingHttpHeaders, ServerResponse } from "node:http";
import { Effect } from "effect";
import { json, type Listening, listening } from "../../httpStandIn.ts";

export { json } from "../../httpStandIn.ts";

export interface ReceivedRequest {
  /** From 0. */
  readonly nth: number;
  readonly path: string;
  readonly headers: IncomingHttpHeaders;
  readonly body: { readonly messages: readonly { readonly role: string; readonly content: string }[] } & Record<
    string,
    unknown
  >;
}

export type Script = (asked: ReceivedRequest, response: ServerResponse) => void;

export interface StandIn extends Omit<Listening, "port"> {
  readonly asked: ReceivedRequest[];
}

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
      const requests: ReceivedRequest[] = [];
      const { die, open, url } = await listening(({ headers, path, text }, response) => {
        const one = { nth: requests.length, path, headers, body: JSON.parse(text) };
        requests.push(one);
        script(one, response);
      });
      return { url, asked: requests, open, die };
    }),
    ({ die }) => Effect.promise(die),
  );
