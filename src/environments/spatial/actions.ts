/**
 * Parses an action: a sequence of movements that ends by observing or answering; null for other text. The label and the brackets are
 * optional and case does not matter: `Actions: [Rotate(90), Observe()]`, `rotate(90), observe()`. Where there are brackets, text outside
 * of them is ignored.
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

/** The argument of Term may hold parentheses of its own, as in `Term((A))` or a choice that is quoted whole. */
const callPattern = /([A-Za-z]+)\s*\(((?:[^()]|\([^()]*\))*)\)/g;

const isMovement = (call: Call): call is Movement => call._tag !== "Observe" && call._tag !== "Term";

export const readSequence = (action: string): Sequence | null => {
  const listed = /\[(.*)\]/s.exec(action)?.[1] ?? action;
  const calls = [...listed.matchAll(callPattern)].map(([, name = "", argument = ""]) => callOf(name, argument.trim()));
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
