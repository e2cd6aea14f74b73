/**
 * Parses an action: a sequence of movements that ends by observing or answering; null for other text. The label and the brackets are
 * optional and case does not matter: `Actions: [Rotate(90), Observe()]`, `rotate(90), observe()`. Where there are brackets, text outside
 * of them is ignored. Reading takes time in proportion to the text's length.
 */

export type Movement =
  | { readonly _tag: "JumpTo"; readonly name: string }
  /** Clockwise; any whole number, of which only some are allowed. */
  | { readonly _tag: "Rotate"; readonly degrees: number }
  | { readonly _tag: "Return" };

export interface Sequence {
  readonly movements: readonly Movement[];
  readonly end: { readonly _tag: "Observe" } | { readonly _tag: "Term"; readonly answer: string };
}

type Call = Movement | Sequence["end"];

const callOf = (name: string, argument: string): Call | null => {
  switch (name.toLowerCase()) {
    case "jumpto":
    case "move":
    case "moveto":
      return argument === "" ? null : { _tag: "JumpTo", name: argument.toLowerCase().replaceAll("_", " ") };
    case "rotate":
      return /^[+-]?\d+$/.test(argument) ? { _tag: "Rotate", degrees: Number(argument) } : null;
    case "return":
      return argument === "" ? { _tag: "Return" } : null;
    case "observe":
      return argument === "" ? { _tag: "Observe" } : null;
    case "term":
      return argument === "" ? null : { _tag: "Term", answer: argument };
    default:
      return null;
  }
};

/** A name and an opening parenthesis. A name starts where no letter stands before it, so that no suffix of a long word is tried. */
const callHead = /(?<![A-Za-z])([A-Za-z]+)\s*\(/g;

/**
 * Where the argument that starts at `from` ends; null where it does not. It may hold parentheses of its own, one level deep, as in
 * `Term((A))` or a choice that is quoted whole.
 */
const argumentEnd = (text: string, from: number): number | null => {
  const parenthesis = /[()]/g;
  parenthesis.lastIndex = from;
  for (let depth = 1; ; ) {
    const found = parenthesis.exec(text);
    if (found === null) return null;
    depth += found[0] === "(" ? 1 : -1;
    if (depth === 0) return found.index;
    if (depth > 2) return null;
  }
};

/** All calls of a text in order, null for one that is not known. A head whose argument does not end is skipped. */
const callsIn = (text: string): readonly (Call | null)[] => {
  const calls: (Call | null)[] = [];
  const head = new RegExp(callHead);
  for (let found = head.exec(text); found !== null; found = head.exec(text)) {
    const from = head.lastIndex;
    const end = argumentEnd(text, from);
    if (end === null) continue;
    calls.push(callOf(found[1] ?? "", text.slice(from, end).trim()));
    head.lastIndex = end + 1;
  }
  return calls;
};

/** What stands between the first bracket and the last; the whole text where there is no such pair. */
const listIn = (text: string): string => {
  const [open, close] = [text.indexOf("["), text.lastIndexOf("]")];
  return open >= 0 && close > open ? text.slice(open + 1, close) : text;
};

const isMovement = (call: Call): call is Movement => call._tag !== "Observe" && call._tag !== "Term";

export const readSequence = (action: string): Sequence | null => {
  const calls = callsIn(listIn(action));
  const movements: Movement[] = [];
  for (const [at, call] of calls.entries()) {
    if (call === null) return null;
    if (isMovement(call)) {
      movements.push(call);
      continue;
    }
    // Exactly one end, and last; an answer follows no movement but a return.
    if (at !== calls.length - 1) return null;
    if (call._tag === "Term" && movements.some(({ _tag }) => _tag !== "Return")) return null;
    return { movements, end: call };
  }
  return null;
};

export const movementText = (movement: Movement): string => {
  switch (movement._tag) {
    case "JumpTo":
      return `JumpTo(${movement.name})`;
    case "Rotate":
      return `Rotate(${movement.degrees})`;
    case "Return":
      return "Return()";
  }
};

export const sequenceText = ({ end, movements }: Sequence): string =>
  `Actions: [${[...movements.map(movementText), end._tag === "Term" ? `Term(${end.answer})` : "Observe()"].join(", ")}]`;
