/**
 * Replies to the page: JSON and text, compressed if the client accepts it, with headers that restrict what a browser does with
 * them.
 */
import type { IncomingHttpHeaders } from "node:http";
import { pipeline, Readable } from "node:stream";
import { constants, createGzip, gzip } from "node:zlib";
import type { Problem } from "../../../support/http/Problem.ts";
import type { Headers, Reply } from "../../../support/http/Reply.ts";
import type { RouteRequest } from "../../../support/http/Route.ts";

/** Headers of every reply. The page loads everything from this server and nothing from elsewhere. */
export const safeHeaders: Headers = {
  "x-content-type-options": "nosniff",
  "x-frame-options": "DENY",
  "referrer-policy": "no-referrer",
  "cross-origin-resource-policy": "same-origin",
  "cross-origin-opener-policy": "same-origin",
  "cache-control": "no-store",
};

const jsonType = "application/json; charset=utf-8";
/** A shorter text is not worth compressing. */
const LEAST_GZIP = 1_400;
/** The fastest level, because the machine belongs to the run. */
const level = { level: constants.Z_BEST_SPEED };

export const takesGzip = (headers: IncomingHttpHeaders): boolean =>
  String(headers["accept-encoding"] ?? "")
    .toLowerCase()
    .split(",")
    .some((each) => /^\s*gzip\s*(?:;\s*q=(?:1|0\.\d*[1-9]).*)?$/.test(each));

const compressed = (text: string): Promise<Buffer> =>
  new Promise((resolve, reject) =>
    gzip(text, level, (error, bytes) => (error === null ? resolve(bytes) : reject(error))),
  );

const encodedHeaders = (type: string, zipped: boolean): Headers => ({
  "content-type": type,
  vary: "accept-encoding",
  ...(zipped ? { "content-encoding": "gzip" } : {}),
});

export const textReply = async ({ headers }: RouteRequest, type: string, text: string): Promise<Reply> => {
  const zipped = text.length >= LEAST_GZIP && takesGzip(headers);
  return { status: 200, headers: encodedHeaders(type, zipped), body: zipped ? await compressed(text) : text };
};

/** Replies with a text that is JSON already. */
export const jsonTextReply = (request: RouteRequest, text: string): Promise<Reply> =>
  textReply(request, jsonType, text);

export const jsonReply = (request: RouteRequest, value: unknown): Promise<Reply> =>
  jsonTextReply(request, JSON.stringify(value));

export const problemReply = ({ message, status }: Problem) => ({
  status,
  headers: { "content-type": jsonType },
  body: JSON.stringify({ error: message }),
});

/** Replies with a text in pieces, each made after the client has read those before. */
export const piecesReply = (
  { headers }: RouteRequest,
  type: string,
  pieces: Iterable<string>,
  filename: string,
): Reply => {
  const zipped = takesGzip(headers);
  const source = Readable.from(pieces, { objectMode: true });
  return {
    status: 200,
    headers: {
      ...encodedHeaders(type, zipped),
      "content-disposition": `attachment; filename="${filename}"`,
    },
    // A client that hangs up ends the pieces as well.
    body: zipped ? pipeline(source, createGzip(level), () => undefined) : source,
  };
};
