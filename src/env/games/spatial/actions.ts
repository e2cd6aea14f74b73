/**
 * Parses an action: a sequence of movements that ends by observing or answering; null for other text. The label and the brackets are optional and
 * case does not matter: `Actions: [Rotate(90), Observe()]`, `rotate(90), observe()`. Text outside of brackets is ignored. Parsing takes time
 * linear in the text's length.
 */

export type RoomMovement =
  | { readonly _tag: "JumpTo"; readonly name: string }
  /** The degrees are clockwise; the parser accepts any whole number, of which only some are allowed. */
  | { readonly _tag: "Rotate"; readonly degrees: number }
  | { readonly _tag: "Return" };

export interface Sequence {
  readonly movements: readonly RoomMovement[];
  readonly end: { readonly _tag: "Observe" } | { readonly _tag: "Term"; readonly answer: string };
}

type Call = RoomMovement | Sequence["end"];

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

/** Matches a name and an opening parenthesis. No letter may stand before the name, so that no suffix of a long word is tried. */
const callHead = /(?<![A-Za-z])([A-Za-z]+)\s*\(/g;

/**
 * The index at which the argument that starts at `from` ends; null if it does not end. It may contain parentheses, one level deep, as in
 * `Term((A))` or a choice that is quoted whole.
 */
const argumentEnd = (text: string, from: number): number | null => {
  const parenthesis = /[()]/g;
  parenthesis.lastIndex = from;
  for (let depth = 1; ; ) {
    const match = parenthesis.exec(text);
    if (match === null) return null;
    depth += match[0] === "(" ? 1 : -1;
    if (depth === 0) return match.index;
    if (depth > 2) return null;
  }
};

/** All calls of a text in order, null for one that is not known. A head whose argument does not end is skipped. */
const callsIn = (text: string): readonly (Call | null)[] => {
  const calls: (Call | null)[] = [];
  const head = new RegExp(callHead);
  for (let match = head.exec(text); match !== null; match = head.exec(text)) {
    const from = head.lastIndex;
    const end = argumentEnd(text, from);
    if (end === null) continue;
    calls.push(callOf(match[1] ?? "", text.slice(from, end).trim()));
    head.lastIndex = end + 1;
  }
  return calls;
};

/** The text between the first bracket and the last; the whole text if there is no such pair. */
const listIn = (text: string): string => {
  const [open, close] = [text.indexOf("["), text.lastIndexOf("]")];
  return open >= 0 && close > open ? text.slice(open + 1, close) : text;
};

const isMovement = (call: Call): call is RoomMovement => call._tag !== "Observe" && call._tag !== "Term";

export const parseSequence = (action: string): Sequence | null => {
  const calls = callsIn(listIn(action));
  const movements: RoomMovement[] = [];
  for (const [at, call] of calls.entries()) {
    if (call === null) return null;
    if (isMovement(call)) {
      movements.push(call);
      continue;
    }
    // A sequence has exactly one end, as its last call; an answer follows no movement but a return.
    if (at !== calls.length - 1) return null;
    if (call._tag === "Term" && movements.some(({ _tag }) => _tag !== "Return")) return null;
    return { movements, end: call };
  }
  return null;
};

export const movementText = (movement: RoomMovement): string => {
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
