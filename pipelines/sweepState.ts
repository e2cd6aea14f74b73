/**
 * Reads the state of each run of a sweep from its folder alone: finished, unfinished with a checkpoint, or new. A run
 * under another configuration is bad input, so that no table mixes two.
 */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { Effect, Result } from "effect";
import type { RunConfig } from "../src/config/RunConfig.ts";
import { render } from "../src/config/render.ts";
import { showKey, showValue } from "../src/config/show.ts";
import { get, leaves } from "../src/config/Tree.ts";
import { readYaml } from "../src/config/yamlText.ts";
import { BadInput } from "../src/domain/Errors.ts";
import * as Checkpoints from "../src/observe/record/Checkpoints.ts";
import { newestRunIn } from "../src/observe/record/RunFolders.ts";
import * as RunLock from "../src/observe/record/RunLock.ts";
import type { RunEnd } from "../src/observe/record/RunResult.ts";
import { readRunResult } from "../src/observe/record/readRunResult.ts";
import { hasEvaluation, readSummary } from "../src/tools/evaluation/EvaluationFolder.ts";

export type RunState =
  | { readonly _tag: "Finished"; readonly folder: string }
  | { readonly _tag: "Unfinished"; readonly folder: string }
  | { readonly _tag: "New" };

/** A reader of what is not there sees nothing. */
const textOf = (file: string): string | null => {
  try {
    return readFileSync(file, "utf8");
  } catch {
    return null;
  }
};

const valueText = (value: unknown): string => (value === undefined ? "not set" : showValue(value));

/** The first key in which two configurations differ; null of those that differ in keys alone that may change. */
const difference = (written: string, now: string, mayChange: (key: string) => boolean): string | null => {
  const [before, after] = [written, now].map((text) => Result.getOrElse(readYaml(text), () => null));
  const paths = [...leaves(after), ...leaves(before)].map(({ path }) => path);
  const changes = paths.filter((path) => JSON.stringify(get(before, path)) !== JSON.stringify(get(after, path)));
  const path = changes.find((each) => !mayChange(each.join(".")));
  if (path === undefined) return changes.length > 0 ? null : "it is written otherwise";
  return `${showKey(path)} was ${valueText(get(before, path))} and is ${valueText(get(after, path))}`;
};

/** A stop that nobody asked for is an end: the run's own rule, such as too many empty windows. */
const hasEnded = (end: RunEnd): boolean =>
  end._tag === "Completed" || (end._tag === "Stopped" && end.reason !== "stopped" && end.reason !== "interrupted");

/** Fails with BadInput where the run in `path` was made under another configuration than `config`. */
const checkConfig = Effect.fnUntraced(function* (
  path: string,
  config: RunConfig,
  mayChange: (key: string) => boolean = () => false,
) {
  const written = textOf(join(path, "config.yaml")) ?? "";
  const now = render(config);
  const why = written === now ? null : difference(written, now, mayChange);
  if (why === null) return;
  return yield* new BadInput({
    message: `${path}: was run under another configuration: ${why}; name the sweep otherwise, or remove the folder`,
  });
});

const stillRunning = (path: string) => new BadInput({ message: `${path}: is being run; wait for it, or stop it` });

/** The state of the newest training in `folder`. A training under another configuration than `config` is bad input. */
export const stateOf = Effect.fnUntraced(function* (
  folder: string,
  config: RunConfig,
): Effect.fn.Return<RunState, BadInput> {
  const path = yield* Effect.promise(() => newestRunIn(folder));
  if (path === undefined) return { _tag: "New" };
  yield* checkConfig(path, config);
  const { end } = yield* Effect.promise(() => readRunResult(path));
  if (end._tag === "Running") return yield* stillRunning(path);
  if (hasEnded(end)) return { _tag: "Finished", folder: path };
  const steps = yield* Effect.catch(Checkpoints.list(join(path, "checkpoints")), () => Effect.succeed([]));
  return steps.length === 0 ? { _tag: "New" } : { _tag: "Unfinished", folder: path };
});

/** Keys of an evaluation that decide neither what is played nor by whom: it may go on under others. */
const mayChange = (key: string): boolean =>
  /^(evaluation\.endpoint\.(base_url|api_key_env|max_concurrency|(requests|tokens)_per_minute|timeout_ms|retries|retry_wait_ms|failures_in_a_row|budget_\w+|price_\w+)|output\..*|run\.dir|metrics\..*)$/.test(
    key,
  );

/** The state of the newest evaluation in `folder`. An evaluation is finished once all its episodes are. */
export const evaluationState = Effect.fnUntraced(function* (
  folder: string,
  config: RunConfig,
): Effect.fn.Return<RunState, BadInput> {
  const path = yield* Effect.promise(() => newestRunIn(folder));
  if (path === undefined) return { _tag: "New" };
  yield* checkConfig(path, config, mayChange);
  if (yield* Effect.promise(() => RunLock.hasWriter(path))) return yield* stillRunning(path);
  const summary = yield* readSummary(path);
  if (summary !== null && summary.finished === summary.planned) return { _tag: "Finished", folder: path };
  return hasEvaluation(path) ? { _tag: "Unfinished", folder: path } : { _tag: "New" };
});
