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
interface Party extends Contestant {
  readonly conditions: Conditions;
}

const ValidationLine = Schema.fromJsonString(
  Schema.Struct({ step: Schema.Int, success: Schema.Array(Schema.Literals([0, 1])) }),
);
const decodeLine = Schema.decodeUnknownOption(ValidationLine);

const validationsIn = (folder: string) =>
  Effect.map(
    Effect.promise(() => readFile(join(folder, "validations.jsonl"), "utf8").catch(() => "")),
    (text) => text.split("\n").flatMap((line) => Option.toArray(decodeLine(line))),
  );

const ofRun = Effect.fnUntraced(function* (word: string, folder: string, step: number | null) {
  const validations = yield* validationsIn(folder);
  const found = step === null ? validations.at(-1) : validations.find((each) => each.step === step);
  if (found === undefined) {
    const steps = validations.map((each) => each.step);
    const nearest = steps.toSorted((a, b) => Math.abs(a - (step ?? 0)) - Math.abs(b - (step ?? 0)))[0];
    const hint = nearest === undefined ? "it has neither episodes nor validations" : `nearest: @${nearest}`;
    return yield* new BadInput({ message: `compare: ${showValue(word)}: nothing to compare; ${hint}` });
  }
  const config = yield* load(join(folder, "config.yaml"), [], configDir);
  const results = ofValidation(config, found.success);
  if (results === null) {
    const message = `compare: ${showValue(word)}: its validation has ${found.success.length} episodes, unlike its config.yaml`;
    return yield* new BadInput({ message });
  }
  const name = `${basename(dirname(folder))}/${basename(folder)}@${found.step}`;
  const party: Party = { name, results, conditions: conditionsOf(config) };
  return party;
});

const ofEvaluation = Effect.fnUntraced(function* (folder: string) {
  const plan = yield* Folder.readPlan(folder);
  const config = yield* load(join(folder, "config.yaml"), [], configDir);
  const results = ofEpisodes(yield* Folder.readEpisodes(folder));
  const party: Party = { name: plan?.name ?? basename(folder), results, conditions: conditionsOf(config) };
  return party;
});

/** Everything that a word of the command line stands for. */
const partiesOf = Effect.fnUntraced(function* (word: string) {
  const { at, run } = splitStep(word);
  if (at === "best") {
    return yield* new BadInput({ message: `compare: ${showValue(word)}: name a step, as in ${showText(run)}@100` });
  }
  const step = at === null ? null : Number(at);
  const folder = yield* namedRun("RUN", run);
  const evaluations = step === null ? evaluationsIn(folder, 1) : [];
  return evaluations.length > 0 ? yield* Effect.forEach(evaluations, ofEvaluation) : [yield* ofRun(word, folder, step)];
});

/** Names that are there twice get a number. */
const distinct = (parties: readonly Party[]): readonly Party[] => {
  const seen = new Map<string, number>();
  return parties.map((party) => {
    const count = (seen.get(party.name) ?? 0) + 1;
    seen.set(party.name, count);
    return count === 1 ? party : { ...party, name: `${party.name} (${count})` };
  });
};

const checked = Effect.fnUntraced(function* (parties: readonly Party[]) {
  const [first, ...others] = parties.filter(({ results }) => results.length > 0);
  for (const other of first === undefined ? [] : others) {
    if (first === undefined) continue;
    const difference = differenceOf(first.conditions, other.conditions);
    const why = difference === null ? obstacle(first, other) : reasonOf(difference);
    if (why === null) continue;
    return yield* new BadInput({ message: `compare: ${first.name} and ${other.name} do not compare: ${why}` });
  }
});

const comparedOf = Effect.fnUntraced(function* (parties: readonly Party[]) {
  const named = distinct(parties);
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
  const parties = yield* Effect.forEach(folders, ofEvaluation);
  return linesOf(yield* comparedOf(parties), process.stdout.columns ?? 120);
});

export const compare = Effect.fnUntraced(function* (options: {
  readonly runs: readonly string[];
  readonly json: boolean;
}) {
  const parties = (yield* Effect.forEach(options.runs, partiesOf)).flat();
  const compared = yield* comparedOf(parties);
  return options.json ? [JSON.stringify(compared, null, 2)] : linesOf(compared, process.stdout.columns ?? 120);
});
