/** A source of the page without its types, as browsers take it; lines stay where they are. */
import { stripTypeScriptTypes } from "node:module";

/** Node calls it experimental, and would say so on the terminal of whoever looks at a run. */
export const stripTypes = (source: string): string => {
  const { emitWarning } = process;
  process.emitWarning = () => undefined;
  try {
    return stripTypeScriptTypes(source);
  } finally {
    process.emitWarning = emitWarning;
  }
};
