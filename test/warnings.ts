/** Warnings of a program as lines, in place of the standard error they go to. */
import { Logger } from "effect";

export const collected = () => {
  const lines: string[] = [];
  const logger = Logger.make<unknown, void>(({ message }) => {
    lines.push(Array.isArray(message) ? message.join(" ") : String(message));
  });
  return { lines: lines as readonly string[], layer: Logger.layer([logger]) };
};
