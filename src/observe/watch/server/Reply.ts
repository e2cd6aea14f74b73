/** Sends answers: JSON and text, compressed where the client takes it, each with headers that let a browser do nothing else with it. */
import type { IncomingMessage, ServerResponse } from "node:http";
import { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import { constants, createGzip, gzip } from "node:zlib";

/** Of every answer. What the page loads comes from here and from nowhere else. */
export const safeHeaders: Readonly<Record<string, string>> = {
  "x-content-type-options": "nosniff",
  "x-frame-options": "DENY",
  "referrer-policy": "no-referrer",
  "cross-origin-resource-policy": "same-origin",
  "cross-origin-opener-policy": "same-origin",
};

/** A shorter answer is not worth compressing. */
const LEAST_GZIP = 1_400;
/** Fast: the machine is the run's. */
const level = { level: constants.Z_BEST_SPEED };

export const takesGzip = ({ headers }: IncomingMessage): boolean =>
  String(headers["accept-encoding"] ?? "")
    .toLowerCase()
    .split(",")
    .some((each) => /^\s*gzip\s*(?:;\s*q=(?:1|0\.\d*[1-9]).*)?$/.test(each));

const compressed = (text: string): Promise<Buffer> =>
  new Promise((resolve, reject) =>
    gzip(text, level, (error, bytes) => (error === null ? resolve(bytes) : reject(error))),
  );

export const sendText = async (
  request: IncomingMessage,
  response: ServerResponse,
  status: number,
  type: string,
  text: string,
  more: Readonly<Record<string, string>> = {},
): Promise<void> => {
  const zipped = text.length >= LEAST_GZIP && takesGzip(request);
  const body = zipped ? await compressed(text) : Buffer.from(text);
  if (response.destroyed) return;
  response.writeHead(status, {
    ...safeHeaders,
    "cache-control": "no-store",
    "content-type": type,
    "content-length": body.length,
    vary: "accept-encoding",
    ...(zipped ? { "content-encoding": "gzip" } : {}),
    ...more,
  });
  response.end(body);
};

export const sendJson = (
  request: IncomingMessage,
  response: ServerResponse,
  value: unknown,
  status = 200,
): Promise<void> => sendText(request, response, status, "application/json; charset=utf-8", JSON.stringify(value));

/** Why a request is not answered; the connection ends with it, so that nothing more of it is read. */
export const sendError = (response: ServerResponse, status: number, message: string): void => {
  if (response.headersSent) return void response.destroy();
  const body = Buffer.from(JSON.stringify({ error: message }));
  response.writeHead(status, {
    ...safeHeaders,
    "cache-control": "no-store",
    "content-type": "application/json; charset=utf-8",
    "content-length": body.length,
    connection: "close",
    ...(status === 401 ? { "www-authenticate": "Bearer" } : {}),
    ...(status === 405 ? { allow: "GET, POST" } : {}),
  });
  response.end(body);
};

/** Sends a text piece by piece, as fast as it is read. */
export const sendPieces = async (
  request: IncomingMessage,
  response: ServerResponse,
  type: string,
  pieces: Iterable<string>,
  filename: string,
): Promise<void> => {
  const zipped = takesGzip(request);
  response.writeHead(200, {
    ...safeHeaders,
    "cache-control": "no-store",
    "content-type": type,
    "content-disposition": `attachment; filename="${filename}"`,
    vary: "accept-encoding",
    ...(zipped ? { "content-encoding": "gzip" } : {}),
  });
  const source = Readable.from(pieces, { objectMode: true });
  // A client that hangs up wants no more.
  await (zipped ? pipeline(source, createGzip(level), response) : pipeline(source, response)).catch(() => undefined);
};
