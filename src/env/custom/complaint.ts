/** What an error in a module says to its author: the place in the module, where the error's stack knows it, before name and message. */
import { pathToFileURL } from "node:url";

/** A line of a stack that names a file and a line in it. */
const frame = /(?:file:|[/\\]|[A-Za-z]:\\).*?([^/\\:]+:\d+)(?::\d+)?\)?$/;

/**
 * The first frame within the module at `path`; else the file of an error of syntax, which stands on the first line, in the module or in one
 * that it imports.
 */
const placeOf = (path: string, stack: string): string | undefined => {
  const lines = stack.split("\n");
  const own = lines.find(
    (line) => frame.test(line) && (line.includes(pathToFileURL(path).href) || line.includes(`${path}:`)),
  );
  const [first = ""] = lines;
  const at = own ?? (/^(?:file:|[/\\]|[A-Za-z]:\\)/.test(first) ? first : "");
  return frame.exec(at)?.[1];
};

export const complaint = (path: string, cause: unknown): string => {
  if (!(cause instanceof Error)) return String(cause);
  const place = placeOf(path, cause.stack ?? "");
  return `${place === undefined ? "" : `${place}: `}${cause.name}: ${cause.message}`;
};
