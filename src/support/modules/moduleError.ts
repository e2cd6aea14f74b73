/** Describes an error of a user's module for its author: the module's line, if the stack names it, then the error's name and message. */
import { pathToFileURL } from "node:url";

/** A line of a stack that names a file and a line in it. */
const stackFrame = /(?:file:|[/\\]|[A-Za-z]:\\).*?([^/\\:]+:\d+)(?::\d+)?\)?$/;

/**
 * The first frame within the module at `path`. A syntax error has none: its first line names the file, which is the module or one that it
 * imports.
 */
const lineOf = (path: string, stack: string): string | undefined => {
  const lines = stack.split("\n");
  const moduleFrame = lines.find(
    (line) => stackFrame.test(line) && (line.includes(pathToFileURL(path).href) || line.includes(`${path}:`)),
  );
  const [first = ""] = lines;
  const frame = moduleFrame ?? (/^(?:file:|[/\\]|[A-Za-z]:\\)/.test(first) ? first : "");
  return stackFrame.exec(frame)?.[1];
};

export const describeModuleError = (path: string, cause: unknown): string => {
  if (!(cause instanceof Error)) return String(cause);
  const place = lineOf(path, cause.stack ?? "");
  return `${place === undefined ? "" : `${place}: `}${cause.name}: ${cause.message}`;
};
