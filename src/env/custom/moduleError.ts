/** An error of a user's module, described for its author: the line of the module, where the stack names it, then the error's name and message. */
import { pathToFileURL } from "node:url";

/** A line of a stack that names a file and a line in it. */
const frame = /(?:file:|[/\\]|[A-Za-z]:\\).*?([^/\\:]+:\d+)(?::\d+)?\)?$/;

/**
 * The first frame within the module at `path`. A syntax error has none: its first line names the file, which is the module or one that it
 * imports.
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

export const describeError = (path: string, cause: unknown): string => {
  if (!(cause instanceof Error)) return String(cause);
  const place = placeOf(path, cause.stack ?? "");
  return `${place === undefined ? "" : `${place}: `}${cause.name}: ${cause.message}`;
};
