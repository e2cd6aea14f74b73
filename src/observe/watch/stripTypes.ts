/** Strips the types from a source of the page, for browsers; lines stay where they are. */
import { stripTypeScriptTypes } from "node:module";

/** Node calls this experimental, and would warn on the user's terminal. */
export const stripTypes = (source: string): string => {
  const { emitWarning } = process;
  process.emitWarning = () => undefined;
  try {
    return stripTypeScriptTypes(source);
  } finally {
    process.emitWarning = emitWarning;
  }
};
