/** The text of a run file that changes a few keys of another one. */
import { stringify } from "yaml";
import { type Change, setAll, type Tree } from "./Tree.ts";

export interface Overlay {
  /** Name of the run file that is changed, which is the only entry of `defaults`. */
  readonly name: string;
  readonly changes: readonly Change[];
  /** Lines of the comment at the top of the file. */
  readonly comment: readonly string[];
}

export const overlay = ({ changes, comment, name }: Overlay): string => {
  const tree: Tree = setAll({}, changes);
  const lines = comment.map((line) => `# ${line}`.trimEnd());
  return `${[...lines, ""].join("\n")}${stringify({ defaults: [name], ...tree }, { lineWidth: 0 })}`;
};
