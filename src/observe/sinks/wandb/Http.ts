/** One request over HTTP, as the client of W&B makes it: by `fetch`, or by a test's stand-in. An answer is text, cut at a bound. */

export interface HttpRequest {
  readonly method: "POST" | "PUT";
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string | Uint8Array<ArrayBuffer>;
}

export interface HttpReply {
  readonly status: number;
  /** By names in lower case. */
  readonly headers: Readonly<Record<string, string | undefined>>;
  readonly text: string;
}

/** Rejects where no answer comes; the signal ends a request that nobody waits for any more. */
export type Http = (request: HttpRequest, signal: AbortSignal) => Promise<HttpReply>;

const LONGEST_ANSWER = 2 ** 20;

const textOf = async (body: ReadableStream<Uint8Array<ArrayBuffer>> | null): Promise<string> => {
  if (body === null) return "";
  const parts: Uint8Array[] = [];
  let length = 0;
  for await (const part of body) {
    parts.push(part);
    length += part.length;
    if (length > LONGEST_ANSWER) break;
  }
  return Buffer.concat(parts).toString("utf8");
};

/** A redirect is an answer like any other: the key goes to nobody but the server of the run file. */
export const overFetch: Http = async ({ body, headers, method, url }, signal) => {
  const response = await fetch(url, { method, headers, body, signal, redirect: "manual" });
  return {
    status: response.status,
    headers: Object.fromEntries(response.headers),
    text: await textOf(response.body),
  };
};
