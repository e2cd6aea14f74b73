/** Writes a run file that changes another one in a few keys. */
import { stringify } from "yaml";
import { type Change, setAll, type Tree } from "./Tree.ts";

export interface Overlay {
  /** The run file beneath, as a `defaults` list names it. */
  readonly name: string;
  readonly changes: readonly Change[];
  /** What the file is, one line each. */
  readonly comment: readonly string[];
}

export const overlay = ({ changes, comment, name }: Overlay): string => {
  const tree: Tree = setAll({}, changes);
  const lines = comment.map((line) => `# ${line}`.trimEnd());
  return `${[...lines, ""].join("\n")}${stringify({ defaults: [name], ...tree }, { lineWidth: 0 })}`;
};
