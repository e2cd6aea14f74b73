/** An agent whose tools the chat template of the model leaves out: its check, a training and an evaluation. */
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { it } from "@effect/vitest";
import { Console, Effect } from "effect";
import { expect } from "vitest";
import { agentCheck } from "../../pipelines/agentCheck.ts";
import { evaluate } from "../../pipelines/evaluate.ts";
import type { RunConfig } from "../../src/config/RunConfig.ts";
import { packageRoot } from "../../src/support/files/packageRoot.ts";
import { tinyConfig } from "../build/tinyConfig.ts";
import { temporaryFolder } from "../temporaryFolder.ts";
import { train, writeModel } from "./tiny.ts";

/** Leaves a model its folder's chat template alone, which has no tools, as SmolLM2's has none. */
const withoutTools = (model: string): void => {
  const path = join(model, "tokenizer_config.json");
  const { millrace_chat_style: _, ...config } = JSON.parse(readFileSync(path, "utf8"));
  writeFileSync(path, JSON.stringify(config));
};

/** A run of an agent that offers a tool, and makes a reward of 0 of every error. */
const toolRun = Effect.gen(function* () {
  const dir = yield* temporaryFolder;
  yield* writeModel(dir);
  withoutTools(join(dir, "model"));
  return tinyConfig(dir, {
    agent: { path: join(packageRoot, "test/agents/fixtures/adder.ts"), threads: 1 },
    es_manager: { train: { tags: ["Agent"] }, val: { tags: ["Agent"] } },
  });
});

const sentence =
  /^tools cannot be offered with the chat template: it does not write the tools that are offered; set model\.path \(.*\) to a model that has tools, or describe them in a message$/;

it.live("is said to be untrainable by the check", () =>
  Effect.gen(function* () {
    const { isTrainable, lines } = yield* agentCheck(yield* toolRun);
    const fatal = lines.flatMap((line) => /^fatal: episodes 1 and 2 failed: (.*)/.exec(line)?.[1] ?? []);
    expect([isTrainable, fatal]).toEqual([false, [expect.stringMatching(sentence)]]);
  }),
);

const silent: Console.Console = { ...globalThis.console, log: () => undefined, error: () => undefined };

const failureOf = <A, E>(program: Effect.Effect<A, E>): Effect.Effect<unknown, string> =>
  Effect.flip(Effect.provideService(program, Console.Console, silent)).pipe(Effect.mapError(() => "it did not fail"));

it.live.each([
  ["a training", (config: RunConfig) => failureOf(train({ config, resume: null }))],
  ["an evaluation", (config: RunConfig) => failureOf(evaluate({ config, resume: null }))],
] as const)("ends %s by its first episode, as bad input", ([_, failureIn]) =>
  Effect.gen(function* () {
    const error = yield* failureIn(yield* toolRun);
    expect(error).toMatchObject({ _tag: "BadInput", message: expect.stringMatching(/^agent: tools cannot/) });
  }),
);
