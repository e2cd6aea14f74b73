/**
 * Writes a proof as text: RAGEN's observation (steps, statement, numbered script, latest tactics, Lean's answer), or the short form for
 * small models.
 */
import type { LeanConfig } from "./LeanConfig.ts";
import type { LeanState } from "./Proof.ts";
import { isUnsolved, type LeanMessage } from "./ProofCheck.ts";
import { scriptOf } from "./Theorem.ts";

/** Prompts show so many lines of the script, the last ones. */
const scriptLines = 40;
const width = 88;
const compactWords = 40;

/** Matches the place at which a word may be broken: after a hyphen between letters. */
const hyphen = /(?<=\w[a-zA-Z_]-)(?=\w+[a-zA-Z_])/;

/** Breaks a text into lines of at most `width` characters, at spaces and hyphens; a longer word is broken where the line ends. */
const wrapLines = (text: string): readonly string[] => {
  const lines: string[] = [];
  let line = "";
  const add = (glue: string, part: string): void => {
    const joined = line === "" ? part : line + glue + part;
    if (joined.length <= width) {
      line = joined;
    } else if (part.length > width) {
      lines.push(joined.slice(0, width));
      line = "";
      add("", joined.slice(width));
    } else {
      lines.push(line);
      line = part;
    }
  };
  for (const word of text.split(/\s+/).filter((part) => part !== "")) {
    for (const [at, part] of word.split(hyphen).entries()) add(at === 0 ? " " : "", part);
  }
  return line === "" ? lines : [...lines, line];
};

const script = (config: LeanConfig, state: LeanState): readonly string[] => {
  const lines = scriptOf(config, state.theorem, state.tactics);
  const left = Math.max(0, lines.length - scriptLines);
  const digits = Math.max(3, String(lines.length).length);
  const shown = lines.slice(left).map((line, at) => `${String(left + at + 1).padStart(digits)} | ${line}`);
  return left > 0 ? [`... (${left} earlier lines omitted)`, ...shown] : shown;
};

const log = ({ log: entries, steps }: LeanState): readonly string[] => {
  const left = steps - entries.length;
  const shown = entries.map(({ accepted, tactic }, at) => {
    const number = String(left + at + 1).padStart(2, "0");
    return `  ${number}. ${tactic} [${accepted ? "✓ accepted" : "✗ rejected"}]`;
  });
  return left > 0 ? [`  ... (${left} earlier steps omitted)`, ...shown] : shown;
};

const truncate = (text: string, limit: number): string => {
  if (limit === 0) return text;
  const bare = text.trim();
  return bare.length <= limit ? bare : `${bare.slice(0, Math.max(0, limit - 3))}...`;
};

const messageText = (message: LeanMessage, at: number, limit: number): string => {
  const places = [message.pos, message.endPos].flatMap((pos) => (pos ? [`${pos.line}:${pos.column}`] : []));
  const kind = isUnsolved(message) ? "UNSOLVED GOALS" : message.severity.toUpperCase();
  const where = places.length === 0 ? "" : ` ${places.join(" → ")}`;
  return `${String(at + 1).padStart(2, "0")}. [${kind}${where}] ${truncate(message.data, limit)}`.trimEnd();
};

const feedback = (config: LeanConfig, { feedback: said }: LeanState): readonly string[] => {
  if (said === null) return [];
  const messages =
    said.messages.length === 0
      ? ["(no Lean messages)"]
      : said.messages.map((message, at) => messageText(message, at, config.message_truncate_limit));
  return ["", "Last Lean feedback:", `  accepted: ${said.accepted ? "True" : "False"}`, "  messages:", ...messages];
};

export const observation = (config: LeanConfig, state: LeanState): string => {
  const { informal } = state.theorem;
  const entries = log(state);
  return [
    `Steps taken: ${state.steps}/${config.max_steps} | accepted tactics: ${state.tactics.length}`,
    "",
    "Informal statement:",
    ...(informal === "" ? ["(not provided)"] : wrapLines(informal)).map((line) => `  ${line}`),
    "",
    "Proof transcript:",
    ...script(config, state).map((line) => `  ${line}`),
    ...(entries.length === 0 ? [] : ["", "Proof log (latest 5 steps):", ...entries]),
    ...feedback(config, state),
  ].join("\n");
};

/** ASCII names of Lean's usual signs. */
const spelled: readonly (readonly [RegExp, string])[] = [
  [/ℕ/g, "Nat"],
  [/ℤ/g, "Int"],
  [/ℚ/g, "Rat"],
  [/ℝ/g, "Real"],
  [/ℂ/g, "Complex"],
  [/⊢/g, "|-"],
  [/↔/g, "<->"],
  [/→/g, "->"],
  [/←/g, "<-"],
  [/∧/g, "and"],
  [/∨/g, "or"],
  [/¬/g, "not "],
  [/∀/g, "forall"],
  [/∃/g, "exists"],
  [/≤/g, "<="],
  [/≥/g, ">="],
  [/≠/g, "!="],
  [/∣/g, "|"],
  [/∈/g, "in"],
  [/⊆/g, "subset"],
  [/∩/g, "cap"],
  [/∪/g, "cup"],
];

const asciiText = (text: string): string => {
  let ascii = text.replace(/[₀-₉]/g, (digit) => String(digit.charCodeAt(0) - 0x2080));
  for (const [sign, name] of spelled) ascii = ascii.replace(sign, name);
  // biome-ignore lint/suspicious/noControlCharactersInRegex: all that is not ASCII
  return ascii.replace(/[^\x00-\x7f]/g, "?");
};

/** The goal to prove and the result of the last tactic. */
export const shortObservation = (state: LeanState): string => {
  if (state.proved) return "proved";
  const statement = state.theorem.statement.replace(/^(example|\S+\s+\S+)\s*/, "").replace(/\s*:=\s*by$/, "");
  const words = asciiText(state.goal ?? statement)
    .split(/\s+/)
    .filter((word) => word !== "");
  const goal = words.length > compactWords ? `.. ${words.slice(-compactWords).join(" ")}` : words.join(" ");
  const last = state.feedback === null ? "" : state.feedback.accepted ? "\nok" : "\nno";
  return `goal ${goal}${last}`;
};
