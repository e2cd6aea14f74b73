/**
 * Generates arithmetic word problems from a seed: the rows of `word_problems.jsonl` (in GSM8K's layout) and of `rephrased_problems.jsonl`
 * (in MetaMathQA's). `node test/generators/wordProblems.ts` writes both files.
 * Invariants: equal seeds give equal files; no two problems of a file read alike; every problem has one answer.
 */
import { writeFileSync } from "node:fs";
import { type Random, stream } from "../../src/domain/Random.ts";

type Value = number | string;
type Values = Readonly<Record<string, Value>>;
/** The values as a text shows them: a number, or `x` for the one asked for. */
type Shown<V extends Values> = Readonly<Record<keyof V, string>>;

interface Template<V extends Values> {
  readonly draw: (random: Random) => V;
  /** Two wordings of one problem. */
  readonly texts: readonly [(shown: Shown<V>) => string, (shown: Shown<V>) => string];
  /** The lines of the worked solution. */
  readonly steps: (values: V) => readonly string[];
  readonly answer: (values: V) => string;
  /** Two numbers, each of which the answer and the others determine. */
  readonly unknowns: readonly [keyof V & string, keyof V & string];
}

/** A template whose values are hidden, for a list of several kinds. */
export interface Problems {
  readonly draw: (random: Random) => Values;
  readonly text: (wording: 0 | 1, values: Values, unknown: string | null) => string;
  readonly steps: (values: Values) => readonly string[];
  readonly answer: (values: Values) => string;
  readonly unknowns: readonly [string, string];
}

const problems = <V extends Values>(template: Template<V>): Problems => ({
  ...template,
  text: (wording, values, unknown) => {
    const shown = Object.entries(values).map(([name, value]) => [name, name === unknown ? "x" : String(value)]);
    return template.texts[wording](Object.fromEntries(shown));
  },
  steps: (values) => template.steps(values as V),
  answer: (values) => template.answer(values as V),
});

const people = ["Ada", "Ben", "Chen", "Dina", "Emeka", "Farah", "Goran", "Hana", "Ivo", "Jun", "Kofi", "Lena", "Mara"];
const things = ["marbles", "stickers", "shells", "stamps", "cards", "buttons", "pencils", "beads", "coins", "badges"];

const between = (random: Random, low: number, high: number): number => low + random.int(high - low + 1);
const person = (random: Random): string => random.pick(people);
const thing = (random: Random): string => random.pick(things);
const twoPeople = (random: Random): readonly [string, string] => {
  const [one, other] = random.shuffle(people);
  return [one!, other!];
};
const divisor = (a: number, b: number): number => (b === 0 ? a : divisor(b, a % b));

export const templates: readonly Problems[] = [
  problems({
    draw: (r) => ({
      who: person(r),
      what: thing(r),
      a: between(r, 12, 60),
      b: between(r, 5, 40),
      c: between(r, 2, 10),
    }),
    texts: [
      (s) =>
        `${s.who} has ${s.a} ${s.what}, finds ${s.b} more and then gives ${s.c} away. How many ${s.what} are left?`,
      (s) =>
        `After finding ${s.b} ${s.what} to add to the ${s.a} already owned, ${s.who} gives away ${s.c}. How many ${s.what} does ${s.who} keep?`,
    ],
    steps: ({ a, b, c }) => [`${a} + ${b} = ${a + b}`, `${a + b} - ${c} = ${a + b - c}`],
    answer: ({ a, b, c }) => String(a + b - c),
    unknowns: ["a", "c"],
  }),
  problems({
    draw: (r) => ({ who: person(r), boxes: between(r, 3, 12), each: between(r, 4, 15), loose: between(r, 2, 9) }),
    texts: [
      (s) =>
        `${s.who} packs ${s.boxes} boxes with ${s.each} apples each and has ${s.loose} apples left over. How many apples were there at first?`,
      (s) =>
        `There are ${s.loose} apples that did not fit into the ${s.boxes} boxes ${s.who} filled with ${s.each} apples apiece. How many apples are there altogether?`,
    ],
    steps: ({ boxes, each, loose }) => [
      `${boxes} * ${each} = ${boxes * each}`,
      `${boxes * each} + ${loose} = ${boxes * each + loose}`,
    ],
    answer: ({ boxes, each, loose }) => String(boxes * each + loose),
    unknowns: ["boxes", "loose"],
  }),
  problems({
    draw: (r) => {
      const [who, other] = twoPeople(r);
      return { who, other, what: thing(r), base: between(r, 6, 30), times: between(r, 2, 6) };
    },
    texts: [
      (s) =>
        `${s.who} has ${s.base} ${s.what}. ${s.other} has ${s.times} times as many. How many ${s.what} do they have together?`,
      (s) =>
        `${s.other} owns ${s.times} times as many ${s.what} as ${s.who}, who owns ${s.base}. How many is that for the two of them?`,
    ],
    steps: ({ base, times }) => [
      `${base} * ${times} = ${base * times}`,
      `${base * times} + ${base} = ${base * times + base}`,
    ],
    answer: ({ base, times }) => String(base * times + base),
    unknowns: ["base", "times"],
  }),
  problems({
    draw: (r) => ({ speed: 5 * between(r, 6, 22), hours: between(r, 2, 7), rest: 5 * between(r, 2, 12) }),
    texts: [
      (s) =>
        `A train goes ${s.speed} km an hour for ${s.hours} hours and then ${s.rest} km more. How many kilometres is that in all?`,
      (s) =>
        `How far does a train get, in kilometres, that covers ${s.speed} km in each of ${s.hours} hours and ${s.rest} km after that?`,
    ],
    steps: ({ hours, rest, speed }) => [
      `${speed} * ${hours} = ${speed * hours}`,
      `${speed * hours} + ${rest} = ${speed * hours + rest}`,
    ],
    answer: ({ hours, rest, speed }) => String(speed * hours + rest),
    unknowns: ["speed", "rest"],
  }),
  problems({
    draw: (r) => {
      const price = between(r, 3, 18);
      const count = between(r, 2, 8);
      return { who: person(r), price, count, paid: 10 * Math.ceil((price * count + 1) / 10) };
    },
    texts: [
      (s) =>
        `${s.who} buys ${s.count} notebooks at $${s.price} each and pays with $${s.paid}. How many dollars does ${s.who} get back?`,
      (s) =>
        `A notebook costs $${s.price}. What change in dollars is due when ${s.who} takes ${s.count} of them and hands over $${s.paid}?`,
    ],
    steps: ({ count, paid, price }) => [
      `${count} * ${price} = ${count * price}`,
      `${paid} - ${count * price} = ${paid - count * price}`,
    ],
    answer: ({ count, paid, price }) => String(paid - count * price),
    unknowns: ["paid", "price"],
  }),
  problems({
    draw: (r) => {
      const friends = between(r, 3, 9);
      const each = between(r, 4, 20);
      const eaten = between(r, 2, 9);
      return { who: person(r), total: friends * each + eaten, eaten, friends };
    },
    texts: [
      (s) =>
        `${s.who} bakes ${s.total} biscuits, eats ${s.eaten} and shares the rest equally among ${s.friends} friends. How many does each friend get?`,
      (s) =>
        `Of ${s.total} biscuits ${s.eaten} are gone; what is left is split evenly by ${s.friends} friends of ${s.who}. How many biscuits is that for each?`,
    ],
    steps: ({ eaten, friends, total }) => [
      `${total} - ${eaten} = ${total - eaten}`,
      `${total - eaten} / ${friends} = ${(total - eaten) / friends}`,
    ],
    answer: ({ eaten, friends, total }) => String((total - eaten) / friends),
    unknowns: ["total", "eaten"],
  }),
  problems({
    draw: (r) => ({ who: person(r), now: between(r, 8, 40), ago: between(r, 2, 6), later: between(r, 3, 15) }),
    texts: [
      (s) => `${s.ago} years ago ${s.who} was ${s.now} years old. How old will ${s.who} be ${s.later} years from now?`,
      (s) => `${s.who} turned ${s.now} exactly ${s.ago} years ago. What age will ${s.who} reach in ${s.later} years?`,
    ],
    steps: ({ ago, later, now }) => [
      `${now} + ${ago} = ${now + ago}`,
      `${now + ago} + ${later} = ${now + ago + later}`,
    ],
    answer: ({ ago, later, now }) => String(now + ago + later),
    unknowns: ["now", "later"],
  }),
  problems({
    draw: (r) => ({ length: between(r, 4, 25), width: between(r, 3, 18), path: between(r, 1, 3) }),
    texts: [
      (s) =>
        `A garden is ${s.length} m long and ${s.width} m wide. A gate of ${s.path} m needs no fence. How many metres of fence go around the garden?`,
      (s) =>
        `How many metres of fence does a rectangular garden of ${s.length} m by ${s.width} m need, if ${s.path} m of its edge are a gate?`,
    ],
    steps: ({ length, path, width }) => [
      `${length} + ${width} = ${length + width}`,
      `2 * ${length + width} = ${2 * (length + width)}`,
      `${2 * (length + width)} - ${path} = ${2 * (length + width) - path}`,
    ],
    answer: ({ length, path, width }) => String(2 * (length + width) - path),
    unknowns: ["length", "width"],
  }),
  problems({
    draw: (r) => ({ rows: between(r, 5, 20), seats: between(r, 6, 24), empty: between(r, 3, 25) }),
    texts: [
      (s) =>
        `A hall has ${s.rows} rows of ${s.seats} seats. At a concert ${s.empty} seats stay empty. How many people are seated?`,
      (s) =>
        `At a concert all but ${s.empty} seats are taken in a hall with ${s.seats} seats in each of ${s.rows} rows. How many people sit there?`,
    ],
    steps: ({ empty, rows, seats }) => [
      `${rows} * ${seats} = ${rows * seats}`,
      `${rows * seats} - ${empty} = ${rows * seats - empty}`,
    ],
    answer: ({ empty, rows, seats }) => String(rows * seats - empty),
    unknowns: ["rows", "empty"],
  }),
  problems({
    draw: (r) => ({ who: person(r), first: between(r, 5, 30), more: between(r, 2, 8), days: between(r, 3, 6) }),
    texts: [
      (s) =>
        `${s.who} reads ${s.first} pages on the first day and ${s.more} pages more on each day than on the day before. How many pages are read on day ${s.days}?`,
      (s) =>
        `Starting with ${s.first} pages, ${s.who} reads ${s.more} more pages every day than the day before. How many pages is that on day ${s.days}?`,
    ],
    steps: ({ days, first, more }) => [
      `${days} - 1 = ${days - 1}`,
      `${days - 1} * ${more} = ${(days - 1) * more}`,
      `${first} + ${(days - 1) * more} = ${first + (days - 1) * more}`,
    ],
    answer: ({ days, first, more }) => String(first + (days - 1) * more),
    unknowns: ["first", "more"],
  }),
  problems({
    draw: (r) => ({ who: person(r), wage: between(r, 9, 30), hours: between(r, 4, 9), days: between(r, 2, 6) }),
    texts: [
      (s) =>
        `${s.who} earns $${s.wage} an hour and works ${s.hours} hours a day on ${s.days} days. How many dollars does ${s.who} earn?`,
      (s) =>
        `At $${s.wage} an hour, how many dollars do ${s.days} working days of ${s.hours} hours each bring ${s.who}?`,
    ],
    steps: ({ days, hours, wage }) => [
      `${hours} * ${days} = ${hours * days}`,
      `${hours * days} * ${wage} = ${hours * days * wage}`,
    ],
    answer: ({ days, hours, wage }) => String(hours * days * wage),
    unknowns: ["wage", "days"],
  }),
  problems({
    draw: (r) => {
      const percent = 10 * between(r, 1, 6);
      return { percent, price: 10 * between(r, 3, 40), post: between(r, 2, 9) };
    },
    texts: [
      (s) =>
        `A coat of $${s.price} is sold at ${s.percent} percent off, and sending it costs $${s.post}. How many dollars is that altogether?`,
      (s) =>
        `With $${s.post} for sending it, what does a coat cost in dollars whose price of $${s.price} was cut by ${s.percent} percent?`,
    ],
    steps: ({ percent, post, price }) => [
      `${price} * ${percent} / 100 = ${(price * percent) / 100}`,
      `${price} - ${(price * percent) / 100} = ${price - (price * percent) / 100}`,
      `${price - (price * percent) / 100} + ${post} = ${price - (price * percent) / 100 + post}`,
    ],
    answer: ({ percent, post, price }) => String(price - (price * percent) / 100 + post),
    unknowns: ["price", "percent"],
  }),
  problems({
    draw: (r) => ({ full: between(r, 20, 60), flow: between(r, 2, 9), leak: 1, minutes: between(r, 3, 9) }),
    texts: [
      (s) =>
        `A tank holds ${s.full} litres. Every minute ${s.flow} litres flow in and ${s.leak} litre leaks out. How many litres are in it after ${s.minutes} minutes?`,
      (s) =>
        `Each minute a tank gains ${s.flow} litres and loses ${s.leak} litre. It starts with ${s.full} litres. How many does it hold ${s.minutes} minutes later?`,
    ],
    steps: ({ flow, full, leak, minutes }) => [
      `${flow} - ${leak} = ${flow - leak}`,
      `${minutes} * ${flow - leak} = ${minutes * (flow - leak)}`,
      `${full} + ${minutes * (flow - leak)} = ${full + minutes * (flow - leak)}`,
    ],
    answer: ({ flow, full, leak, minutes }) => String(full + minutes * (flow - leak)),
    unknowns: ["full", "flow"],
  }),
  problems({
    draw: (r) => {
      const [who, other] = twoPeople(r);
      const more = between(r, 3, 20);
      return { who, other, more, total: 2 * between(r, 8, 40) + more };
    },
    texts: [
      (s) =>
        `${s.who} and ${s.other} have ${s.total} books together. ${s.who} has ${s.more} more than ${s.other}. How many books has ${s.other}?`,
      (s) =>
        `Together ${s.other} and ${s.who} own ${s.total} books, ${s.who} ${s.more} more than ${s.other}. How many of them are ${s.other}'s?`,
    ],
    steps: ({ more, total }) => [`${total} - ${more} = ${total - more}`, `${total - more} / 2 = ${(total - more) / 2}`],
    answer: ({ more, total }) => String((total - more) / 2),
    unknowns: ["total", "more"],
  }),
  problems({
    draw: (r) => {
      for (;;) {
        const [a, b, third] = [between(r, 50, 95), between(r, 50, 95), between(r, 40, 100)];
        if ((a + b + third) % 3 === 0) return { a, b, wanted: (a + b + third) / 3 };
      }
    },
    texts: [
      (s) =>
        `Two tests gave ${s.a} and ${s.b} points. How many points does a third test need for an average of ${s.wanted} over all three?`,
      (s) =>
        `The average of three tests is to be ${s.wanted} points. The first two gave ${s.a} and ${s.b}. What must the third give?`,
    ],
    steps: ({ a, b, wanted }) => [
      `3 * ${wanted} = ${3 * wanted}`,
      `${a} + ${b} = ${a + b}`,
      `${3 * wanted} - ${a + b} = ${3 * wanted - a - b}`,
    ],
    answer: ({ a, b, wanted }) => String(3 * wanted - a - b),
    unknowns: ["a", "wanted"],
  }),
  problems({
    draw: (r) => {
      const whole = r.pick([4, 5, 6, 8, 9, 10, 12]);
      const more = between(r, 1, 2);
      return { who: person(r), whole, part: between(r, 1, whole - more - 1), more };
    },
    texts: [
      (s) =>
        `A cake is cut into ${s.whole} equal pieces. ${s.who} eats ${s.part} of them and a friend ${s.more}. What fraction of the cake is eaten, in lowest terms?`,
      (s) =>
        `${s.who} takes ${s.part} and a friend ${s.more} of the ${s.whole} equal pieces of a cake. Written in lowest terms, what fraction is gone?`,
    ],
    steps: ({ more, part, whole }) => [`${part} + ${more} = ${part + more}`, `${part + more} of ${whole} pieces`],
    answer: ({ more, part, whole }) => {
      const shared = divisor(part + more, whole);
      return `${(part + more) / shared}/${whole / shared}`;
    },
    unknowns: ["part", "more"],
  }),
  problems({
    draw: (r) => ({ who: person(r), pens: between(r, 2, 9), cents: 5 * between(r, 9, 49), bag: between(r, 2, 6) }),
    texts: [
      (s) =>
        `A pen costs ${s.cents} cents and a bag $${s.bag}. How many cents does ${s.who} pay for ${s.pens} pens and a bag?`,
      (s) =>
        `${s.who} buys a bag for $${s.bag} and ${s.pens} pens for ${s.cents} cents each. What is the sum in cents?`,
    ],
    steps: ({ bag, cents, pens }) => [
      `${pens} * ${cents} = ${pens * cents}`,
      `100 * ${bag} = ${100 * bag}`,
      `${pens * cents} + ${100 * bag} = ${pens * cents + 100 * bag}`,
    ],
    answer: ({ bag, cents, pens }) => String(pens * cents + 100 * bag),
    unknowns: ["cents", "bag"],
  }),
  problems({
    draw: (r) => ({ hens: between(r, 4, 20), goats: between(r, 3, 15) }),
    texts: [
      (s) => `A farm keeps ${s.hens} hens and ${s.goats} goats. How many legs do the animals have in all?`,
      (s) => `How many legs are there on a farm whose animals are ${s.goats} goats and ${s.hens} hens?`,
    ],
    steps: ({ goats, hens }) => [
      `2 * ${hens} = ${2 * hens}`,
      `4 * ${goats} = ${4 * goats}`,
      `${2 * hens} + ${4 * goats} = ${2 * hens + 4 * goats}`,
    ],
    answer: ({ goats, hens }) => String(2 * hens + 4 * goats),
    unknowns: ["hens", "goats"],
  }),
  problems({
    draw: (r) => ({ start: between(r, -9, 6), drop: between(r, 2, 9), rise: between(r, 3, 14) }),
    texts: [
      (s) =>
        `In the evening it is ${s.start} degrees. Overnight it gets ${s.drop} degrees colder, then by noon ${s.rise} degrees warmer. How many degrees is it at noon?`,
      (s) =>
        `From ${s.start} degrees in the evening it cools by ${s.drop} overnight and warms by ${s.rise} until noon. What is the temperature at noon, in degrees?`,
    ],
    steps: ({ drop, rise, start }) => [
      `${start} - ${drop} = ${start - drop}`,
      `${start - drop} + ${rise} = ${start - drop + rise}`,
    ],
    answer: ({ drop, rise, start }) => String(start - drop + rise),
    unknowns: ["start", "drop"],
  }),
  problems({
    draw: (r) => ({
      who: person(r),
      laps: between(r, 3, 12),
      metres: 50 * between(r, 4, 12),
      goal: 1000 * between(r, 8, 15),
    }),
    texts: [
      (s) =>
        `${s.who} wants to run ${s.goal} metres on a track of ${s.metres} metres and has done ${s.laps} laps. How many metres are still to go?`,
      (s) => `After ${s.laps} laps of ${s.metres} metres each, how many metres is ${s.who} short of ${s.goal}?`,
    ],
    steps: ({ goal, laps, metres }) => [
      `${laps} * ${metres} = ${laps * metres}`,
      `${goal} - ${laps * metres} = ${goal - laps * metres}`,
    ],
    answer: ({ goal, laps, metres }) => String(goal - laps * metres),
    unknowns: ["goal", "laps"],
  }),
];

export interface WordProblem {
  readonly question: string;
  readonly answer: string;
}

export interface RephrasedProblem {
  readonly type: string;
  readonly query: string;
  readonly original_question: string;
  readonly response: string;
}

const at = (seed: number, ...counters: readonly number[]): Random => stream({ seed, purpose: "play", counters });

/** Values of problem `index`, the templates taking turns; drawn again until `taken` has no problem that reads alike. */
const drawn = (seed: number, index: number, texts: Set<string>): readonly [Problems, Values] => {
  const template = templates[index % templates.length]!;
  for (let attempt = 0; ; attempt++) {
    const values = template.draw(at(seed, index, attempt));
    const text = template.text(0, values, null);
    if (texts.has(text)) continue;
    texts.add(text);
    return [template, values];
  }
};

/** Rows in GSM8K's layout; the two wordings take turns. */
export const wordProblems = (seed: number, count: number): readonly WordProblem[] => {
  const texts = new Set<string>();
  return Array.from({ length: count }, (_, index) => {
    const [template, values] = drawn(seed, index, texts);
    const wording = at(seed, index, 0, 1).int(2) === 0 ? 0 : 1;
    const solution = [...template.steps(values), `#### ${template.answer(values)}`];
    return { question: template.text(wording, values, null), answer: solution.join("\n") };
  });
};

/** Rows in MetaMathQA's layout: each original question as it is, in other words, and asked backwards for either unknown. */
export const rephrasedProblems = (seed: number, originals: number): readonly RephrasedProblem[] => {
  const texts = new Set<string>();
  return Array.from({ length: originals }, (_, index) => {
    const [template, values] = drawn(seed, index, texts);
    const original_question = template.text(0, values, null);
    const answer = template.answer(values);
    const worked = template.steps(values).join("\n");
    const forward = (type: string, query: string): RephrasedProblem => ({
      type,
      query,
      original_question,
      response: `${worked}\nThe answer is: ${answer}`,
    });
    const backward = (wording: 0 | 1): RephrasedProblem => {
      const unknown = template.unknowns[wording];
      return {
        type: "backward",
        query: `${template.text(wording, values, unknown)} Suppose the answer is ${answer}. What is x?`,
        original_question,
        response: `With x = ${values[unknown]}:\n${worked}\nThe answer is: ${values[unknown]}`,
      };
    };
    return [
      forward("as_is", original_question),
      forward("reworded", template.text(1, values, null)),
      backward(0),
      backward(1),
    ];
  }).flat();
};

/** The contents of the two files. */
export const files = (): Readonly<Record<string, readonly object[]>> => ({
  "word_problems.jsonl": wordProblems(1, 400),
  "rephrased_problems.jsonl": rephrasedProblems(2, 120),
});

export const jsonLines = (rows: readonly object[]): string => rows.map((row) => `${JSON.stringify(row)}\n`).join("");

if (import.meta.main) {
  for (const [name, rows] of Object.entries(files()))
    writeFileSync(new URL(`../../config/data/questions/${name}`, import.meta.url), jsonLines(rows));
}
