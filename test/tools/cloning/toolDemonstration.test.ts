/** Demonstrations of the till: the ids that a rollout would have, for each reply what was meant, and sources that cannot play. */
import { describe, expect, it } from "@effect/vitest";
import { Effect } from "effect";
import { concatIds } from "../../../src/domain/Batch.ts";
import { turnsOf } from "../../../src/domain/Episode.ts";
import type { BoundEnvironment } from "../../../src/env/contract/BoundEnvironment.ts";
import type { ToolDialogue } from "../../../src/rollout/Dialogue.ts";
import type { Rollout } from "../../../src/rollout/Rollout.ts";
import type { Demonstrator } from "../../../src/tools/cloning/Demonstration.ts";
import { demonstrateTools } from "../../../src/tools/cloning/toolDemonstration.ts";
import { type Family, family, rolloutOf, task, till } from "../../rollout/tools/playing.ts";

const pureTill = (): BoundEnvironment => {
  if (till.asynchronous) throw new Error("the till is pure");
  return till;
};

/** Demonstrates episode 5 of the till, with changes. */
const demonstrated = (
  model: Family,
  environment: Partial<BoundEnvironment> = {},
  changes: Partial<Demonstrator> = {},
  dialogue: Partial<ToolDialogue> = {},
) => {
  const rollout: Rollout = rolloutOf(model, "<answer>");
  const demonstrator: Demonstrator = {
    ...{ rollout, tokenizer: model.tokenizer, noise: 0, seed: 3 },
    excluded: () => false,
    ...changes,
  };
  const source = { task, environment: { ...pureTill(), ...environment }, player: "solver", mistakes: 0 } as const;
  const tills = rollout.toolDialogues?.get("Till");
  if (tills === undefined) throw new Error("the till has a dialogue");
  return demonstrateTools(demonstrator, source, { ...tills, ...dialogue }, 5);
};

describe("a demonstration of tools", () => {
  it.effect("has the ids of prompts and of the adviser's calls, each reply with its end", () =>
    Effect.scoped(
      Effect.gen(function* () {
        const model = yield* family("nano");
        const shown = yield* demonstrated(model);
        if (shown === null || "_tag" in shown) throw new Error("the adviser plays the till");
        const turns = turnsOf(shown);
        const text = model.tokenizer.decode(concatIds(turns.flatMap(({ prompt, sampled }) => [prompt, sampled.ids])));
        expect(text).toMatch(
          /<\|user\|>(\w+) (\w+)<\|assistant\|><answer>price\(\1\)<\/answer><\|im_end\|><\|user\|>(\d)<\|assistant\|><answer>price\(\2\)<\/answer><\|im_end\|><\|user\|>(\d)<\|assistant\|><answer>add\(\3, \4\)<\/answer><\|im_end\|><\|user\|>(\d+)<\|assistant\|><answer>\5<\/answer><\|im_end\|>$/,
        );
        expect(shown.outcome).toEqual({ _tag: "Done", success: true });
        expect(yield* demonstrated(model)).toEqual(shown);
        expect(yield* demonstrated(model, {}, { seed: 4 })).not.toEqual(shown);
      }),
    ),
  );

  it.effect("is none of an excluded instance, and of a source without a plan", () =>
    Effect.scoped(
      Effect.gen(function* () {
        const model = yield* family("nano");
        expect(yield* demonstrated(model, {}, { excluded: () => true })).toBeNull();
        expect(yield* demonstrated(model, { advise: () => null })).toBeNull();
        expect(yield* demonstrated(model, { advise: () => "a very long answer ".repeat(20) })).toBeNull();
      }),
    ),
  );

  it.effect("is refused where a reply reads as something else, and fails with its environment", () =>
    Effect.scoped(
      Effect.gen(function* () {
        const model = yield* family("nano");
        const other = yield* demonstrated(model, {}, {}, { write: () => Effect.succeed("price(fig)</answer>") });
        expect(other).toMatchObject({
          _tag: "Refusal",
          message: expect.stringMatching(/^a reply with the actions price\(.*\) reads as price\(\{"thing":"fig"\}\)$/),
        });
        const step = () => {
          throw new Error("the till is empty");
        };
        expect(yield* demonstrated(model, { step })).toMatchObject({
          _tag: "StepFailure",
          message: "the till is empty",
        });
      }),
    ),
  );
});
