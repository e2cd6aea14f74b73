/** Before a training goes on and after a training or a cloning has ended: whether anything is left to do, and what came of it. */
import { Console, Effect } from "effect";
import type { RunConfig } from "../src/config/RunConfig.ts";
import { BadInput } from "../src/domain/Errors.ts";
import { readRunResult } from "../src/observe/record/readRunResult.ts";
import { resultLines } from "./resultLines.ts";

/** True if the run in `folder` has made all steps of `config`: its process was killed behind its last checkpoint. */
export const isDone = Effect.fnUntraced(function* (config: RunConfig, folder: string) {
  const { end, steps } = yield* Effect.promise(() => readRunResult(folder));
  return end._tag === "Completed" && steps.done >= config.trainer.total_training_steps;
});

/** Fails with BadInput where the run in `folder` has made all its steps and ended, or is none of `train`. */
export const checkContinuable = Effect.fnUntraced(function* (config: RunConfig, folder: string) {
  const { end, kind, steps } = yield* Effect.promise(() => readRunResult(folder));
  if (kind === "cloning") {
    return yield* new BadInput({
      message: `--resume: ${folder}: a run of sft; nearest: millrace sft --resume ${folder}`,
    });
  }
  const total = config.trainer.total_training_steps;
  if (end._tag !== "Completed" || steps.done < total) return;
  const message = `--resume: ${folder}: all ${steps.done} steps are done; to go on, set more of them: trainer.total_training_steps=${steps.done * 2}`;
  return yield* new BadInput({ message });
});

/** npm puts the programs of a project on the path of its scripts only. */
const program = (): string => (process.env.npm_config_user_agent === undefined ? "millrace" : "npx millrace");

/** Prints what came of the run in `folder`. */
export const printResult = Effect.fnUntraced(function* (folder: string) {
  const result = yield* Effect.promise(() => readRunResult(folder));
  // npm starts a script in its project's folder; INIT_CWD is where its user is.
  const place = { directory: process.env.INIT_CWD ?? process.cwd(), program: program() };
  yield* Effect.forEach(resultLines(result, place), (line) => Console.log(line), { discard: true });
});
