/**
 * Decides which requests a server accepts. A web page can reach every port of its browser's machine. So the guard refuses a
 * foreign Host (a page may point its own name here), the Origin of another page, and a body that a form could send. It requires
 * the token if there is one. Pure.
 */
import { createHash, timingSafeEqual } from "node:crypto";
import type { IncomingHttpHeaders } from "node:http";
import { isIP, isIPv4 } from "node:net";
import { Problem } from "./Problem.ts";

export interface Guard {
  /**
   * True if the server listens beyond loopback. Addresses then count as names of the server, since no page can give itself one.
   */
  readonly isPublic: boolean;
  /** Names of the server beside those of loopback. */
  readonly hosts: readonly string[];
  /** Origins of pages that may send requests, as `http://name:port`. */
  readonly origins: readonly string[];
  /** The token that every request must carry; null requires none. */
  readonly token: string | null;
}

export interface RequestHead {
  readonly method: string;
  readonly headers: IncomingHttpHeaders;
  /** All values of each header, for headers that appear more than once. */
  readonly headerValues: NodeJS.Dict<string[]>;
}

/** True for a name or address, without brackets, that only this machine can use for itself. */
export const isLoopback = (host: string): boolean => {
  const name = host.toLowerCase();
  return name === "localhost" || name === "::1" || (isIPv4(name) && name.startsWith("127."));
};

/** The name in a Host header, without brackets, port and final dot; null if there is none. */
export const hostNameOf = (host: string): string | null => {
  const parts = /^(?:\[([0-9a-f:.]+)\]|([^\s:/?#@[\]\\,]+?)\.?)(?::\d{1,5})?$/i.exec(host);
  return (parts?.[1] ?? parts?.[2])?.toLowerCase() ?? null;
};

const isServerHost = ({ hosts, isPublic }: Guard, host: string): boolean => {
  const name = hostNameOf(host);
  if (name === null) return false;
  return isLoopback(name) || (isPublic && isIP(name) !== 0) || hosts.some((each) => each.toLowerCase() === name);
};

const refusal = (status: number, message: string, flag?: string): Problem =>
  new Problem({ status, message, ...(flag === undefined ? {} : { flag }) });

const quoted = (value: string | undefined): string => JSON.stringify((value ?? "").slice(0, 80));

const hash = (text: string): Buffer => createHash("sha256").update(text).digest();

/** Compares in the same time for wrong and right tokens. */
export const hasToken = (authorization: string | undefined, token: string): boolean => {
  const given = /^Bearer +(\S+) *$/i.exec(authorization ?? "")?.[1] ?? "";
  return timingSafeEqual(hash(given), hash(token));
};

/** Headers that the guard reads, and that must not appear twice. */
const singleHeaders = ["host", "origin", "authorization", "content-type"] as const;

const originRefusal = (guard: Guard, { headers }: RequestHead): Problem | null => {
  const { host, origin } = headers;
  if (origin === undefined) {
    // A load without an Origin (a picture, a link) names its relation in another header.
    const site = headers["sec-fetch-site"];
    return site === undefined || site === "same-origin" || site === "none"
      ? null
      : refusal(403, "a page of another origin may not ask this server");
  }
  const origins = [`http://${host}`, ...guard.origins];
  if (origins.some((each) => each.toLowerCase() === origin.toLowerCase())) return null;
  return refusal(403, `the origin ${quoted(origin)} may not ask this server`, "--allow-origin names one that may");
};

/**
 * True for the request by which a browser asks permission for another one. It carries no token, and headers alone answer it.
 */
export const isPreflight = ({ headers, method }: RequestHead): boolean =>
  method === "OPTIONS" && headers.origin !== undefined && headers["access-control-request-method"] !== undefined;

/** The reason to refuse a request, or null. */
export const refusalOf = (guard: Guard, head: RequestHead): Problem | null => {
  const { headerValues, headers } = head;
  const twice = singleHeaders.find((name) => (headerValues[name]?.length ?? 0) > 1);
  if (twice !== undefined) return refusal(400, `the header ${twice} came more than once`);
  if (headers.host === undefined || !isServerHost(guard, headers.host)) {
    return refusal(403, `the host ${quoted(headers.host)} is no name of this server`, "--allow-host names one that is");
  }
  const page = originRefusal(guard, head);
  if (page !== null || isPreflight(head)) return page;
  if (guard.token !== null && !hasToken(headers.authorization, guard.token)) {
    return refusal(401, "this server asks for its token: Authorization: Bearer TOKEN");
  }
  return null;
};

const isNavigation = ({ headers, method }: RequestHead): boolean =>
  method === "GET" && headers["sec-fetch-mode"] === "navigate" && headers["sec-fetch-dest"] === "document";

/**
 * The reason to refuse a request for a page, or null. It needs no token, because a browser sends none with an address, and any
 * page may link to it.
 */
export const pageRefusalOf = (guard: Guard, head: RequestHead): Problem | null => {
  const { "sec-fetch-site": _, ...headers } = head.headers;
  return refusalOf({ ...guard, token: null }, isNavigation(head) ? { ...head, headers } : head);
};

/** The reason to refuse the body of a request, or null: a form of any page can send a body of another type. */
export const bodyRefusalOf = ({ headers }: RequestHead): Problem | null => {
  const type = headers["content-type"];
  if (/^application\/json[ \t]*(?:;|$)/i.test(type ?? "")) return null;
  return refusal(415, `a body is application/json here, and not ${quoted(type)}`);
};

/** Response headers for a page of an allowed origin; empty for any other request. */
export const corsHeaders = (guard: Guard, head: RequestHead): Readonly<Record<string, string>> => {
  const { origin } = head.headers;
  if (origin === undefined || !guard.origins.some((each) => each.toLowerCase() === origin.toLowerCase())) return {};
  const allowed = { "access-control-allow-origin": origin, vary: "origin" };
  if (!isPreflight(head)) return allowed;
  return {
    ...allowed,
    "access-control-allow-methods": "GET, POST",
    "access-control-allow-headers": "authorization, content-type",
    "access-control-max-age": "600",
  };
};
