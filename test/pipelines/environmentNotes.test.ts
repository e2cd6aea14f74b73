import { Effect } from "effect";
import { expect, it } from "vitest";
import { unknownNamesSentence } from "../../pipelines/actionNames.ts";
import { environmentNotes } from "../../pipelines/environmentNotes.ts";
import { configDir } from "../../pipelines/paths.ts";
import { load } from "../../src/config/resolve.ts";
import { bind } from "../../src/env/contract/BoundEnvironment.ts";
import { defineEnvironment } from "../../src/env/contract/defineEnvironment.ts";
import * as Model from "../../src/model/Model.ts";
import { packageRoot } from "../../src/support/files/packageRoot.ts";

const { tokenizer } = await Effect.runPromise(Model.loadWithoutWeights(`${packageRoot}/config/models/nano`));

/** A number to be named at once, of `size` numbers; whether a wrong one is a success is up to `wrong`. */
const guess = (size: number, wrong: { readonly success?: boolean }, names = ["Up", "Down", "Left", "Right"]) =>
  bind(
    defineEnvironment({
      type: "guess",
      reset: (_config, random) => ({ goal: random.int(size) }),
      step: (_config, state, action) => {
        const found = action === names[state.goal % names.length];
        return found ? { state, reward: 1, terminated: true } : { state, terminated: true, ...wrong };
      },
      render: (_config, { goal }) => String(goal),
      actions: () => names,
    }),
    {},
  );

const notes = async (environment: ReturnType<typeof guess>, instruction: string) => {
  const overrides = [
    `custom_envs.Guess={env_type: ./guess.ts, env_instruction: "${instruction}"}`,
    "es_manager.val={env_groups: 16, tags: [Guess], n_groups: [16]}",
    "es_manager.train.tags=[Guess]",
  ];
  const config = await Effect.runPromise(load("quickstart", overrides, configDir));
  return environmentNotes({ tag: "Guess", environment, config, tokenizer, actions: 4 });
};

it("has nothing to say of an environment with an instruction, many instances and ends that fail", async () => {
  expect(await notes(guess(2 ** 30, { success: false }), "Name it.")).toEqual([]);
});

it("says that the prompt has no task", async () => {
  expect(await notes(guess(2 ** 30, { success: false }), "")).toEqual([
    "custom_envs.Guess.env_instruction is empty: the prompt does not say what the task is",
  ]);
});

it("counts the instances that this run's validation takes from training", async () => {
  expect(await notes(guess(8, { success: false }), "Name it.")).toEqual([
    expect.stringMatching(
      /^\d\d of 64 training instances are among the [5-8] that this run validates on, .*env_groups \(16\)/,
    ),
  ]);
});

it("says that a wrong end counts as a success", async () => {
  expect(await notes(guess(2 ** 30, {}), "Name it.")).toEqual([
    expect.stringMatching(/^\d+ of 64 random episodes of Guess that succeed earn nothing: .* returns success: false$/),
  ]);
});

it("says that random play leaves little to learn", async () => {
  expect(await notes(guess(2 ** 30, { success: false }, ["Up"]), "Name it.")).toEqual([
    "random play of Guess succeeds in 100 % of the episodes, which leaves little to learn: make it harder",
  ]);
});

it("names the actions that the embedded model has no word for, with the cloning that shows them", () => {
  expect(unknownNamesSentence("Guess", ["Up", "Left", "1"], tokenizer)).toBeUndefined();
  expect(unknownNamesSentence("Guess", null, tokenizer)).toBeUndefined();
  expect(unknownNamesSentence("Guess", ["Up", "North", "Pour"], tokenizer)).toMatch(
    /^Guess: the embedded model was not trained to write North, Pour; .*\{tag: Guess, mistakes: 0\.5\}/,
  );
});
