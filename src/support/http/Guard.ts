/**
 * Who may ask a server. A web page reaches every port of the machine its browser runs on, so a request is refused whose Host is a name that
 * is not the server's (a page may have its own name point here), or whose Origin is another page's, or whose body could come from a form.
 * Where there is a token, it is asked for besides. Pure.
 */
import { createHash, timingSafeEqual } from "node:crypto";
import type { IncomingHttpHeaders } from "node:http";
import { isIP, isIPv4 } from "node:net";
import { Problem } from "./Problem.ts";

export interface Guard {
  /** Listens beyond loopback: addresses are names of the server then, since no page can give itself one. */
  readonly isPublic: boolean;
  /** Names of the server beside those of loopback. */
  readonly hosts: readonly string[];
  /** Pages that may ask, as `http://name:port`. */
  readonly origins: readonly string[];
  /** What every request must bear; null asks for nothing. */
  readonly token: string | null;
}

export interface RequestHead {
  readonly method: string;
  readonly headers: IncomingHttpHeaders;
  /** The values of each header, where it came more than once. */
  readonly headerValues: NodeJS.Dict<string[]>;
}

/** Whether a name or an address, without brackets, is this machine's own and no other's. */
export const isLoopback = (host: string): boolean => {
  const name = host.toLowerCase();
  return name === "localhost" || name === "::1" || (isIPv4(name) && name.startsWith("127."));
};

/** The name in a Host header, without brackets, port and final dot; null where it is none. */
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

/** Takes as long for a wrong token as for a right one. */
export const hasToken = (authorization: string | undefined, token: string): boolean => {
  const given = /^Bearer +(\S+) *$/i.exec(authorization ?? "")?.[1] ?? "";
  return timingSafeEqual(hash(given), hash(token));
};

/** Headers that decide here and must not come twice. */
const singleHeaders = ["host", "origin", "authorization", "content-type"] as const;

const originRefusal = (guard: Guard, { headers }: RequestHead): Problem | null => {
  const { host, origin } = headers;
  if (origin === undefined) {
    // What a page loads without an Origin (a picture, a link) names the relation instead.
    const site = headers["sec-fetch-site"];
    return site === undefined || site === "same-origin" || site === "none"
      ? null
      : refusal(403, "a page of another origin may not ask this server");
  }
  const origins = [`http://${host}`, ...guard.origins];
  if (origins.some((each) => each.toLowerCase() === origin.toLowerCase())) return null;
  return refusal(403, `the origin ${quoted(origin)} may not ask this server`, "--allow-origin names one that may");
};

/** Whether a browser asks before a request that a form could not make. It sends no token, and is answered by headers alone. */
export const isPreflight = ({ headers, method }: RequestHead): boolean =>
  method === "OPTIONS" && headers.origin !== undefined && headers["access-control-request-method"] !== undefined;

/** Why a request is refused, or null. */
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
 * Why a request for a page is refused, or null. It needs no token, because a browser sends none with an address; and a link to it may stand on
 * any other page.
 */
export const pageRefusalOf = (guard: Guard, head: RequestHead): Problem | null => {
  const { "sec-fetch-site": _, ...headers } = head.headers;
  return refusalOf({ ...guard, token: null }, isNavigation(head) ? { ...head, headers } : head);
};

/** Why the body of a request is not read, or null: a form of any page can send one of another type. */
export const bodyRefusalOf = ({ headers }: RequestHead): Problem | null => {
  const type = headers["content-type"];
  if (/^application\/json[ \t]*(?:;|$)/i.test(type ?? "")) return null;
  return refusal(415, `a body is application/json here, and not ${quoted(type)}`);
};

/** What a browser is told of a page that is allowed; empty for everything else. */
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
