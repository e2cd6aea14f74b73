/**
 * One HTTP question of an environment's client: an address and a request enter, the status and the body leave, or in words what kept the
 * server from being reached. Interruption ends the request at once; a body longer than it may be is null, and is not read to its end; a
 * server that says nothing for 300 s (Node's own limit) is given up.
 */
import { Effect } from "effect";

export interface Reply {
  readonly status: number;
  readonly body: string | null;
}

const sentences: Readonly<Record<string, string>> = {
  ECONNREFUSED: "the connection is refused",
  ENOTFOUND: "there is no such host",
};

/** Why a fetch failed, in words: the innermost cause says what happened, the outer ones only that it did. */
export const networkReason = (cause: unknown): string => {
  let error = cause;
  while (error instanceof Error && error.cause instanceof Error) error = error.cause;
  if (error instanceof AggregateError && error.errors[0] instanceof Error) error = error.errors[0];
  if (!(error instanceof Error)) return String(error);
  const code = "code" in error ? String(error.code) : "";
  return sentences[code] ?? (error.message || code || error.name);
};

/** The text of a response; null where it is longer than `mostBytes`. */
export const textWithin = async (response: Response, mostBytes: number): Promise<string | null> => {
  const decoder = new TextDecoder();
  let text = "";
  let bytes = 0;
  for await (const chunk of response.body ?? []) {
    bytes += chunk.byteLength;
    if (bytes > mostBytes) return null;
    text += decoder.decode(chunk, { stream: true });
  }
  return text + decoder.decode();
};

/** Asks `url`; its answer may have `mostBytes` at most. */
export const ask = (url: string, request: RequestInit, mostBytes: number): Effect.Effect<Reply, string> =>
  Effect.tryPromise({
    try: async (signal) => {
      const response = await fetch(url, { ...request, signal });
      return { status: response.status, body: await textWithin(response, mostBytes) };
    },
    catch: networkReason,
  });
