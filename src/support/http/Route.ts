/**
 * The routes of a server as data: a method, a path and a handler. Pure. Invariant: a path is matched as it is spelled. Only
 * parameters are decoded, one segment at a time, so an encoded slash stays inside its segment.
 */
import type { IncomingHttpHeaders } from "node:http";
import type { Effect } from "effect";
import { badRequest, type Problem } from "./Problem.ts";
import type { Reply } from "./Reply.ts";

export interface RouteRequest {
  readonly headers: IncomingHttpHeaders;
  readonly query: URLSearchParams;
  /** Reads the body when it runs. */
  readonly text: Effect.Effect<string, Problem>;
}

export interface Route<R = never> {
  readonly method: "GET" | "POST";
  /** A segment that begins with a colon is a parameter. */
  readonly path: `/${string}`;
  /** Interrupted when the client hangs up. It may fail with a `Problem`, or throw one. */
  readonly handle: (request: RouteRequest, ...parameters: readonly string[]) => Effect.Effect<Reply, Problem, R>;
  /** True for a page, which a browser opens by its address and which needs no token. */
  readonly isPage?: true;
}

/** Splits a request's target into path and query, whatever a client writes there. */
export const parseTarget = (target: string): { readonly path: string; readonly query: URLSearchParams } => {
  const [path = "/", ...query] = target.split("?");
  return { path, query: new URLSearchParams(query.join("?")) };
};

/** Throws a `Problem` if a segment is no encoded text. */
const decodeSegment = (segment: string): string => {
  let text: string;
  try {
    text = decodeURIComponent(segment);
  } catch {
    throw badRequest(`the path holds ${JSON.stringify(segment.slice(0, 80))}, which is no encoded text`);
  }
  // biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is refused.
  if (/[\u0000-\u001f\u007f]/.test(text)) throw badRequest("the path holds a control character");
  return text;
};

const isParameter = (segment: string): boolean => segment.startsWith(":");

/** Returns a function that finds the routes of a path, one for each method. */
export const routeMatcher = <R>(routes: readonly Route<R>[]) => {
  const patterns = routes.map((route) => ({ route, segments: route.path.split("/") }));
  return (path: string): readonly { readonly route: Route<R>; readonly parameters: () => readonly string[] }[] => {
    const given = path.split("/");
    return patterns
      .filter(
        ({ segments }) =>
          segments.length === given.length && segments.every((each, at) => isParameter(each) || each === given[at]),
      )
      .map(({ route, segments }) => ({
        route,
        parameters: () => given.filter((_, at) => isParameter(segments[at] ?? "")).map(decodeSegment),
      }));
  };
};
