/** `millrace compare`: several evaluations, or validations of runs, in one table with paired intervals. Unlike ones are refused. */
import { readFile } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import { Console, Effect, Option, Schema } from "effect";
import { load } from "../src/config/resolve.ts";
import { showText, showValue } from "../src/config/show.ts";
import { BadInput } from "../src/domain/Errors.ts";
import { type Comparison, type Contestant, comparison, obstacle } from "../src/tools/evaluation/Comparison.ts";
import { type Conditions, conditionsOf, differenceOf, reasonOf } from "../src/tools/evaluation/Conditions.ts";
import { legend, pairTable, rowTable } from "../src/tools/evaluation/comparisonText.ts";
import { ofEpisodes, ofValidation } from "../src/tools/evaluation/contestants.ts";
import * as Folder from "../src/tools/evaluation/EvaluationFolder.ts";
import { evaluationsIn } from "./evaluationsIn.ts";
import { namedRun, splitStep } from "./namedRun.ts";
import { configDir } from "./paths.ts";
import { table } from "./table.ts";

/** A contestant and what it was played under. */
interface CheckedContestant extends Contestant {
  readonly conditions: Conditions;
}

const ValidationLine = Schema.fromJsonString(
  Schema.Struct({
    step: Schema.Int,
    success: Schema.Array(Schema.Literals([0, 1])),
    instances: Schema.optionalKey(Schema.Array(Schema.NullOr(Schema.String))),
  }),
);
const decodeLine = Schema.decodeUnknownOption(ValidationLine);

const validationsIn = (folder: string) =>
  Effect.map(
    Effect.promise(() => readFile(join(folder, "validations.jsonl"), "utf8").catch(() => "")),
    (text) => text.split("\n").flatMap((line) => Option.toArray(decodeLine(line))),
  );

const contestantOfRun = Effect.fnUntraced(function* (word: string, folder: string, step: number | null) {
  const validations = yield* validationsIn(folder);
  const found = step === null ? validations.at(-1) : validations.find((each) => each.step === step);
  if (found === undefined) {
    const steps = validations.map((each) => each.step);
    const nearest = steps.toSorted((a, b) => Math.abs(a - (step ?? 0)) - Math.abs(b - (step ?? 0)))[0];
    const hint = nearest === undefined ? "it has neither episodes nor validations" : `nearest: @${nearest}`;
    return yield* new BadInput({ message: `compare: ${showValue(word)}: nothing to compare; ${hint}` });
  }
  const config = yield* load(join(folder, "config.yaml"), [], configDir);
  const results = ofValidation(config, found);
  if (results === null) {
    const message = `compare: ${showValue(word)}: its validation has ${found.success.length} episodes, unlike its config.yaml`;
    return yield* new BadInput({ message });
  }
  const name = `${basename(dirname(folder))}/${basename(folder)}@${found.step}`;
  const contestant: CheckedContestant = { name, results, conditions: conditionsOf(config) };
  return contestant;
});

const contestantOfEvaluation = Effect.fnUntraced(function* (folder: string) {
  const plan = yield* Folder.readPlan(folder);
  const config = yield* load(join(folder, "config.yaml"), [], configDir);
  const results = ofEpisodes(yield* Folder.readEpisodes(folder));
  const contestant: CheckedContestant = {
    name: plan?.name ?? basename(folder),
    results,
    conditions: conditionsOf(config),
  };
  return contestant;
});

/** Everything that a word of the command line stands for. */
const contestantsOf = Effect.fnUntraced(function* (word: string) {
  const { at, run } = splitStep(word);
  if (at === "best") {
    return yield* new BadInput({ message: `compare: ${showValue(word)}: name a step, as in ${showText(run)}@100` });
  }
  const step = at === null ? null : Number(at);
  const folder = yield* namedRun("RUN", run);
  const evaluations = step === null ? evaluationsIn(folder, 1) : [];
  return evaluations.length > 0
    ? yield* Effect.forEach(evaluations, contestantOfEvaluation)
    : [yield* contestantOfRun(word, folder, step)];
});

/** Names that are there twice get a number. */
const distinct = (contestants: readonly CheckedContestant[]): readonly CheckedContestant[] => {
  const seen = new Map<string, number>();
  return contestants.map((contestant) => {
    const count = (seen.get(contestant.name) ?? 0) + 1;
    seen.set(contestant.name, count);
    return count === 1 ? contestant : { ...contestant, name: `${contestant.name} (${count})` };
  });
};

const checked = Effect.fnUntraced(function* (contestants: readonly CheckedContestant[]) {
  const [first, ...others] = contestants.filter(({ results }) => results.length > 0);
  for (const other of first === undefined ? [] : others) {
    if (first === undefined) continue;
    const difference = differenceOf(first.conditions, other.conditions);
    const why = difference === null ? obstacle(first, other) : reasonOf(difference);
    if (why === null) continue;
    return yield* new BadInput({ message: `compare: ${first.name} and ${other.name} do not compare: ${why}` });
  }
});

const comparisonOf = Effect.fnUntraced(function* (contestants: readonly CheckedContestant[]) {
  const named = distinct(contestants);
  for (const { name, results } of named) {
    if (results.length === 0) yield* Console.error(`${name}: no episode is finished; it is left out`);
  }
  yield* checked(named);
  return comparison(named);
});

const linesOf = (compared: Comparison, width: number): readonly string[] => [
  ...table(rowTable(compared)),
  ...(compared.pairs.length === 0 ? [] : ["", ...table(pairTable(compared))]),
  "",
  ...table([[legend]], { width }),
];

/** The tables of evaluations, by their folders. */
export const comparedLines = Effect.fnUntraced(function* (folders: readonly string[]) {
  const contestants = yield* Effect.forEach(folders, contestantOfEvaluation);
  return linesOf(yield* comparisonOf(contestants), process.stdout.columns ?? 120);
});

export const compare = Effect.fnUntraced(function* (options: {
  readonly runs: readonly string[];
  readonly json: boolean;
}) {
  const contestants = (yield* Effect.forEach(options.runs, contestantsOf)).flat();
  const compared = yield* comparisonOf(contestants);
  return options.json ? [JSON.stringify(compared, null, 2)] : linesOf(compared, process.stdout.columns ?? 120);
});
