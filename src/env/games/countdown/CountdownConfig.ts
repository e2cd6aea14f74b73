/** `env_config` of Countdown. RAGEN has only its data file; the rewards are its own. */
import { Schema } from "effect";
import { field, reward } from "../../../config/field.ts";
import { type Operator, operators } from "./Rational.ts";

const howMany = Schema.Int.check(Schema.isBetween({ minimum: 2, maximum: 6 }));
const operand = Schema.Int.check(Schema.isBetween({ minimum: 1, maximum: 999 }));
const goal = Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 999_999 }));

const Operations = Schema.String.check(
  Schema.makeFilter((text: string) =>
    /^[-+*/]+$/.test(text) && new Set(text).size === text.length
      ? undefined
      : `one or more of ${operators.join(" ")}, each once and without spaces, e.g. "+-"`,
  ),
);

const defaults = { min_numbers: 3, max_numbers: 4, min_number: 1, max_number: 99, min_target: 10, max_target: 99 };

export const CountdownConfig = Schema.Struct({
  min_numbers: field(howMany, defaults.min_numbers, "Fewest numbers of an instance."),
  max_numbers: field(howMany, defaults.max_numbers, "Most numbers of an instance."),
  min_number: field(operand, defaults.min_number, "Smallest number."),
  max_number: field(operand, defaults.max_number, "Largest number."),
  min_target: field(goal, defaults.min_target, "Smallest target."),
  max_target: field(goal, defaults.max_target, "Largest target."),
  operations: field(
    Operations,
    "+-",
    'Operators of the solution every instance is made from, and of the solver\'s; "+-" are the instances RAGEN keeps of its data. Answers may use all of + - * /.',
  ),
  score: field(reward, 1, "Reward of an expression of exactly the given numbers that equals the target."),
  format_score: field(reward, 0.1, "Reward of an answer of exactly the given numbers that does not equal it."),
  accept_equation: field(
    Schema.Boolean,
    true,
    "If true, `2 + 5 - 3 = 4` answers as `2 + 5 - 3` does when the target is 4. In RAGEN the 4 counts as one number too many: false.",
  ),
}).check(
  Schema.makeFilter((config) => {
    for (const range of ["numbers", "number", "target"] as const) {
      const [least, most] = [config[`min_${range}`], config[`max_${range}`]];
      if (least <= most) continue;
      // The error names the end that was set.
      return least === defaults[`min_${range}`]
        ? { path: [`max_${range}`], issue: `must not be below min_${range}, which is ${least}` }
        : { path: [`min_${range}`], issue: `must not be above max_${range}, which is ${most}` };
    }
    return undefined;
  }),
);
export type CountdownConfig = typeof CountdownConfig.Type;

export const operationsOf = ({ operations }: CountdownConfig): readonly Operator[] =>
  operators.filter((operator) => operations.includes(operator));
