/**
 * The routes of a server as data: a method, a path, and what replies. Pure. Invariant: a path is matched as it is spelled; only what stands for
 * a parameter is decoded, one segment at a time, so that an encoded slash stays within it.
 */
import type { IncomingHttpHeaders } from "node:http";
import type { Effect } from "effect";
import { badRequest, type Problem } from "./Problem.ts";
import type { Reply } from "./Reply.ts";

export interface RouteRequest {
  readonly headers: IncomingHttpHeaders;
  readonly query: URLSearchParams;
  /** The body, read when it is asked for. */
  readonly text: Effect.Effect<string, Problem>;
}

export interface Route<R = never> {
  readonly method: "GET" | "POST";
  /** A segment that begins with a colon stands for any one. */
  readonly path: `/${string}`;
  /** Interrupted when the client hangs up. It may fail with a `Problem`, or throw one. */
  readonly handle: (request: RouteRequest, ...parameters: readonly string[]) => Effect.Effect<Reply, Problem, R>;
  /** A page, which a browser opens by its address: needs no token. */
  readonly isPage?: true;
}

/** Path and query of a request's target, whatever a client writes there. */
export const parseTarget = (target: string): { readonly path: string; readonly query: URLSearchParams } => {
  const [path = "/", ...query] = target.split("?");
  return { path, query: new URLSearchParams(query.join("?")) };
};

/** Throws a `Problem` where a segment is no encoded text. */
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

/** Finds the routes of a path, one per method that it has. */
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
