/** Observations, rewards and scripts as RAGEN's own environment gives them for the same answers (fixtures/lean/generate.py). */
import { readFileSync } from "node:fs";
import { Result, Schema } from "effect";
import { describe, expect, it } from "vitest";
import { initialState, isEnded, type LeanState, transitionAfter } from "../../../../src/env/games/lean/Proof.ts";
import {
  emptyTactic,
  LeanResponse,
  type ProofCheck,
  proofCheckOf,
  timedOutCheck,
} from "../../../../src/env/games/lean/ProofCheck.ts";
import { observation } from "../../../../src/env/games/lean/ProofText.ts";
import { scriptOf, theoremOf } from "../../../../src/env/games/lean/Theorem.ts";
import { configWith } from "./config.ts";

interface Step {
  readonly action: string;
  readonly answer: { readonly error?: string; readonly response?: unknown };
  readonly asked?: string | null;
  readonly observation?: string;
  readonly reward: number;
  readonly done: boolean;
  readonly success: boolean;
  readonly accepted: boolean;
}

interface Play {
  readonly row: Readonly<Record<"name" | "formal_statement" | "natural_language_statement", string>>;
  readonly config: Readonly<Record<string, unknown>>;
  readonly start: string;
  readonly steps: readonly Step[];
}

const golden: readonly Play[] = JSON.parse(
  readFileSync(new URL("../../../fixtures/lean/golden.json", import.meta.url), "utf8"),
);

const verdict = ({ action, answer }: Step): ProofCheck => {
  if (action === "") return emptyTactic;
  if (answer.error !== undefined) return timedOutCheck(answer.error);
  return proofCheckOf(Schema.decodeUnknownSync(LeanResponse)(answer.response));
};

describe.each(golden.map((play, at) => ({ at, ...play })))(
  "play $at, config $config",
  ({ config: keys, row, start, steps }) => {
    const config = configWith(keys);
    const theorem = Result.getOrThrow(
      theoremOf({ formal: row.formal_statement, name: row.name, informal: row.natural_language_statement }),
    );

    it("is as in RAGEN", () => {
      let state: LeanState = initialState(theorem);
      expect(observation(config, state)).toBe(start);
      for (const step of steps) {
        if (typeof step.asked === "string") {
          expect(`${scriptOf(config, theorem, [...state.tactics, step.action]).join("\n")}\n`).toBe(step.asked);
        }
        const {
          info,
          reward,
          state: next,
          terminated,
          truncated,
        } = transitionAfter(config, state, step.action, verdict(step));
        state = next;
        if (step.observation !== undefined) expect(observation(config, state)).toBe(step.observation);
        expect([reward, terminated || truncated, info.success, info.accepted]).toEqual([
          step.reward,
          step.done,
          step.success,
          step.accepted,
        ]);
        expect([terminated, isEnded(config, state)]).toEqual([step.success, step.done]);
      }
    });
  },
);

it("covers every kind of reward", () => {
  const rewards = new Set(
    golden.flatMap(({ config, steps }) => (Object.keys(config).length > 3 ? [] : steps)).map(({ reward }) => reward),
  );
  expect([...rewards].sort((a, b) => a - b)).toEqual([-3.1, -2.1, -1.1, 0.9, 10.9]);
});
