/**
 * Renders the tune pipeline's result, and writes its run file. Invariant: the run file holds only settings that real
 * runs have confirmed.
 */
import { existsSync } from "node:fs";
import { availableParallelism } from "node:os";
import { basename, dirname, join, relative, resolve } from "node:path";
import { Console, Effect } from "effect";
import { overlay } from "../src/config/overlay.ts";
import { parseOverride } from "../src/config/overrides.ts";
import type { RunConfig } from "../src/config/RunConfig.ts";
import type { Change } from "../src/config/Tree.ts";
import { BadInput } from "../src/domain/Errors.ts";
import { replaceText } from "../src/support/files/AtomicWrite.ts";
import type { Settings } from "../src/tools/simulation/replay/Training.ts";
import { disturbance } from "../src/tools/tuning/ObservedRun.ts";
import * as Results from "../src/tools/tuning/Results.ts";
import * as Search from "../src/tools/tuning/Search.ts";
import { changes } from "../src/tools/tuning/Space.ts";
import type { TuningState } from "../src/tools/tuning/Tuning.ts";
import { biasOf, percent, whatIf } from "../src/tools/tuning/WhatIf.ts";
import { configDir } from "./paths.ts";
import { table } from "./table.ts";

export interface TuneOptions {
  readonly config: RunConfig;
  /** The run file as it was named, and the overrides it was given. */
  readonly name: string;
  readonly overrides: readonly string[];
  readonly budgetMinutes: number;
  /** The largest bound on staleness that may be chosen; null leaves it as it is. */
  readonly maxStaleness: number | null;
  /** The run file to write; null for NAME.tuned.yaml in the working directory. */
  readonly output: string | null;
  /** As many as the machine has unless given. */
  readonly cores?: number;
}

/** The name as a `defaults` list beside `file` gives it: of a run file of the package, its name there. */
const nameBeside = (name: string, file: string): string =>
  !existsSync(join(configDir, `${name}.yaml`)) && /[/\\]|\.ya?ml$/.test(name)
    ? relative(dirname(file), resolve(name)).replace(/\.yaml$/, "")
    : name;

const outputOf = ({ name, output }: TuneOptions): string =>
  resolve(output ?? `${basename(name).replace(/\.ya?ml$/, "")}.tuned.yaml`);

/** The overrides of the command line, which are part of what was measured. A run file cannot take back what another one sets. */
const given = (overrides: readonly string[]) =>
  Effect.forEach(
    overrides,
    Effect.fnUntraced(function* (text): Effect.fn.Return<Change, BadInput> {
      const override = yield* Effect.fromResult(parseOverride(text));
      if (override._tag === "Set") return override;
      const message = `tune: ${text}: the run file that tune writes cannot leave a key out; give its value instead`;
      return yield* new BadInput({ message });
    }),
  );

/** Refuses what could not be written, before anything is measured. */
export const checkOutput = Effect.fnUntraced(function* (options: TuneOptions) {
  yield* given(options.overrides);
  const file = outputOf(options);
  const beneath = resolve(dirname(file), `${nameBeside(options.name, file).replace(/\.ya?ml$/, "")}.yaml`);
  if (beneath !== file && resolve(options.name) !== file) return;
  const message = `tune: --output: ${file} would be a run file laid over itself; nearest: ${file.replace(/\.yaml$/, "")}.tuned.yaml`;
  return yield* new BadInput({ message });
});

const commentOf = (best: Results.Result, shipped: Results.Result, cores: number): readonly string[] => {
  const [after, before] = [Results.medianOf(best), Results.medianOf(shipped)];
  if (after === undefined || before === undefined) return [];
  const error = Results.errorOf(best);
  return [
    `Written by millrace tune, which measured ${after.windowsPerHour.toFixed(0)} windows an hour with these settings and`,
    `${before.windowsPerHour.toFixed(0)} with those of the file beneath (medians of ${best.measured.length} and ${shipped.measured.length} short runs, ${cores} cores).`,
    `Trained tokens a second: ${after.trainedPerSecond.toFixed(0)}, before ${before.trainedPerSecond.toFixed(0)}. Versions behind: ${after.meanBehind.toFixed(2)}, before ${before.meanBehind.toFixed(2)}.`,
    ...(error === undefined
      ? []
      : [
          `Virtual time had predicted ${best.predicted.windowsPerHour.toFixed(0)} windows an hour (${percent(error, true)}).`,
        ]),
  ];
};

const writeOverlay = Effect.fnUntraced(function* (options: TuneOptions, best: Results.Result, shipped: Results.Result) {
  const file = outputOf(options);
  const keys = [...changes(shipped.settings, best.settings)].map(([key, value]) => ({ path: key.split("."), value }));
  const text = overlay({
    name: nameBeside(options.name, file),
    changes: [...(yield* given(options.overrides)), ...keys],
    comment: commentOf(best, shipped, options.cores ?? availableParallelism()),
  });
  yield* Effect.mapError(replaceText(file, text), ({ message }) => new BadInput({ message }));
  yield* Console.log(`wrote ${file}: millrace train --config-name ${relative(process.cwd(), file)}`);
});

/** The message of a tuning that was stopped before it has a table. */
const unfinishedText = ({ observed }: TuningState): string =>
  `stopped after ${observed.length} short runs: too early for a table; nothing is written`;

const correctionText = ({ correction }: TuningState): string => {
  const each = [...correction].map(([slots, ratio]) => `${percent(ratio - 1, true)} with ${slots} slots`);
  return `Over its probes of the run file the fitted machine made so many more windows an hour: ${each.join(", ")}; predictions are corrected by that.`;
};

/** Other processes that take more than this of a core make the figures unsure. */
const disturbing = 0.1;

export const report = Effect.fnUntraced(function* (
  options: TuneOptions,
  tuning: TuningState,
  shippedSettings: Settings,
  stopped: boolean,
) {
  const width = process.stdout.columns ?? 160;
  if (tuning.results.length === 0) return yield* Console.log(unfinishedText(tuning));
  const rows = whatIf(shippedSettings, tuning.results, tuning.others);
  yield* Console.log(
    `${tuning.count} settings in virtual time; objective: windows an hour at the same bound on staleness`,
  );
  yield* Console.log(correctionText(tuning));
  for (const line of table(rows, { width, widest: 12 })) yield* Console.log(line);
  const [best, shipped] = [Results.bestOf(tuning.results), tuning.results[0]];
  const pace = best === undefined ? undefined : Results.medianOf(best);
  if (best !== undefined && pace !== undefined) {
    for (const line of biasOf(options.config, best.settings, pace)) yield* Console.log(line);
  }
  const others = disturbance(tuning.observed);
  if (others > disturbing) {
    yield* Console.log(`Other processes took ${others.toFixed(1)} cores meanwhile: measure again on a quiet machine.`);
  }
  const gain = best === undefined || shipped === undefined ? undefined : Results.gainOf(best, shipped);
  const candidates = tuning.results.slice(1);
  const confirmed = candidates.length === 0 || candidates.some(({ measured }) => measured.length > 0);
  if (best === undefined || shipped === undefined || gain === undefined || !confirmed) {
    return yield* Console.log("no real run has confirmed other settings: nothing is written");
  }
  const runs = Math.min(best.measured.length, shipped.measured.length);
  if (Search.isWorthwhile(gain) && runs < 2) {
    return yield* Console.log(
      `${percent(gain, true)} windows an hour, by one run: nothing is written; a longer --budget runs it again`,
    );
  }
  const noise = Math.max(Results.spreadOf(best), Results.spreadOf(shipped));
  if (Search.isWorthwhile(gain) && gain <= noise) {
    const line = `${percent(gain, true)} windows an hour, but runs of the same settings differ by ${percent(noise)}`;
    return yield* Console.log(`${line}: nothing is written; a longer --budget or a quieter machine tells more`);
  }
  if (best.settings === shipped.settings || !Search.isWorthwhile(gain)) {
    return yield* Console.log("the settings of the run file are as good as any that were found: nothing is written");
  }
  yield* Console.log(
    `${percent(gain, true)} windows an hour over the run file${stopped ? "; stopped before all runs were made" : ""}`,
  );
  yield* writeOverlay(options, best, shipped);
});
