/** The parts of HTTP that dialects share: the key of a request, the errors of OpenAI's clients, and server-sent events. */
import type { IncomingHttpHeaders } from "node:http";
import type { Problem } from "../../support/http/Problem.ts";

/** The key of a request. Every dialect reads both headers, since gateways translate bodies and keep headers. */
export const keyOf = (headers: IncomingHttpHeaders): string | null => {
  const bearer = /^Bearer +(\S+) *$/i.exec(headers.authorization ?? "")?.[1];
  const key = headers["x-api-key"];
  return bearer ?? (typeof key === "string" && key !== "" ? key : null);
};

/** Writes a server-sent event. Events without a name are messages. JSON has no line breaks, so it is one line of data. */
export const serverSentEvent = (data: unknown, name?: string): string =>
  `${name === undefined ? "" : `event: ${name}\n`}data: ${JSON.stringify(data)}\n\n`;

/** A comment between server-sent events, which clients skip. */
export const emptyComment = ": \n\n";

interface ErrorKind {
  readonly type: string;
  readonly code: string | null;
}

const openAiKinds: ReadonlyMap<number, ErrorKind> = new Map([
  [401, { type: "authentication_error", code: "invalid_api_key" }],
  [403, { type: "permission_error", code: null }],
  [404, { type: "invalid_request_error", code: "not_found" }],
  [409, { type: "invalid_request_error", code: "conflict" }],
  [413, { type: "invalid_request_error", code: "request_too_large" }],
  [429, { type: "rate_limit_error", code: "rate_limit_exceeded" }],
]);

const openAiKind = (status: number): ErrorKind =>
  openAiKinds.get(status) ?? { type: status >= 500 ? "server_error" : "invalid_request_error", code: null };

/** The path at the beginning of a sentence about a field. */
const fieldPath = /^([a-z_]+(?:\[\d+\]|\.[a-z_]+)*): /;

/** An error in the form of OpenAI's dialects. */
export const openAiError = (problem: Problem) => ({ error: openAiErrorFields(problem) });

/** The fields of an error in OpenAI's dialects. */
export const openAiErrorFields = ({ message, status }: Problem) => {
  const param = status === 400 ? (fieldPath.exec(message)?.[1] ?? null) : null;
  return { message, ...openAiKind(status), param };
};
