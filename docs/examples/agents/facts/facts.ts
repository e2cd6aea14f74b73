/**
 * A task for an agent with two tools. A question such as `Nurse + Pilot` asks for the sum of two facts; `find` looks a fact up, `solve` calculates.
 * Every task has facts of its own, so that no answer can be learnt by heart. The agents beside this file share it.
 */

/** A task as JSON; a command gets it in MILLRACE_TASK. */
export interface Task {
  readonly question: string;
  /** The library that `find` searches, by name. */
  readonly facts: Readonly<Record<string, number>>;
  readonly answer: string;
}

/** A tool as OpenAI describes it, and the function behind it. */
export interface Tool {
  readonly name: string;
  readonly description: string;
  /** JSON Schema of the arguments. */
  readonly parameters: {
    readonly type: "object";
    readonly properties: Readonly<Record<string, { readonly type: "string" }>>;
    readonly required: readonly string[];
    readonly additionalProperties: false;
  };
  readonly run: (input: Readonly<Record<string, unknown>>) => string;
}

/** Most calls of an episode: two facts, a calculation and the answer need four. */
export const mostCalls = 6;

/** Words that the embedded model has a token for. */
export const names = [
  "Nurse",
  "Pilot",
  "Clerk",
  "Artist",
  "Banker",
  "Trader",
  "Teacher",
  "Planner",
  "Postman",
  "Cashier",
];

/** Numbers from 0 to 1 that depend on the seed alone (mulberry32). */
export const randomFrom = (seed: number): (() => number) => {
  let state = Math.imul(seed ^ 0x9e3779b9, 0x85ebca6b) >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296;
  };
};

export const pick = <A>(random: () => number, items: readonly A[]): A =>
  items[Math.floor(random() * items.length)] as A;

/** The value of `12+30` or `30-12`; "no" for anything else. */
const calculate = (text: string): string => {
  const [, left, operator, right] = /^\s*(\d{1,6})\s*([+-])\s*(\d{1,6})\s*$/.exec(text) ?? [];
  if (operator === undefined) return "no";
  return String(operator === "+" ? Number(left) + Number(right) : Number(left) - Number(right));
};

/** A task with the names of its question, from which demonstrations are written. */
export interface Parts extends Task {
  readonly people: readonly [string, string];
}

/** Draws a task. Validation, training and demonstrations draw from seeds of their own. */
export const drawTask = (seed: number, use: "train" | "val" | "demonstration"): Parts => {
  const random = randomFrom(seed * 3 + ["train", "val", "demonstration"].indexOf(use));
  const facts = Object.fromEntries(names.map((name) => [name, 10 + Math.floor(random() * 40)]));
  const first = pick(random, names);
  const second = pick(
    random,
    names.filter((name) => name !== first),
  );
  const answer = calculate(`${facts[first]}+${facts[second]}`);
  return { question: `${first} + ${second}`, facts, people: [first, second], answer };
};

const tool = (name: string, description: string, parameter: string, run: (text: string) => string): Tool => ({
  name,
  description,
  parameters: {
    type: "object",
    properties: { [parameter]: { type: "string" } },
    required: [parameter],
    additionalProperties: false,
  },
  run: (input) => run(String(input[parameter] ?? "").trim()),
});

/** The two tools over the facts of a task. */
export const toolsOf = ({ facts }: Pick<Task, "facts">): readonly Tool[] => [
  tool("find", "what a name has", "name", (name) => String(Object.hasOwn(facts, name) ? facts[name] : "no")),
  tool("solve", "the answer of a sum", "sum", calculate),
];

/** Scores the agent's last words. */
export const rewardOf = ({ answer }: Pick<Task, "answer">, text: string): number => (text.trim() === answer ? 1 : 0);
