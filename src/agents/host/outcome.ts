/** An agent's account of an episode, checked. Invariant: an outcome without a reward is none; it never counts as one of 0. */
import { Result } from "effect";
import { isReward, LARGEST_REWARD } from "../../domain/Episode.ts";
import type { Info } from "../../domain/Info.ts";
import { isJsonObject, type JsonObject } from "../../support/json.ts";

/** Rewards of an episode: for all of it, and for calls by the number of their answer. */
export interface Rewards {
  readonly whole: number;
  readonly calls: ReadonlyMap<number, number>;
}

export interface AgentResult {
  readonly rewards: Rewards;
  readonly success: boolean;
  /** Numbers of the whole episode that become metrics. */
  readonly metrics: Info;
}

const outcomeKeys: readonly string[] = ["reward", "turns", "success", "metrics"];

export const rewardForm = `a reward is a number of at most ${LARGEST_REWARD}`;

const readRewards = ({ reward, turns }: JsonObject): Result.Result<Rewards | null, string> => {
  const value = turns ?? reward;
  if (value === undefined || value === null) return Result.succeed(null);
  const list: readonly unknown[] = Array.isArray(value) ? value : [value];
  if (list.length === 0) return Result.succeed(null);
  if (!list.every(isReward)) {
    const shown = typeof value === "number" ? String(value) : JSON.stringify(value);
    return Result.fail(`the reward is ${shown}: ${rewardForm}`);
  }
  const isWhole = !Array.isArray(value);
  return Result.succeed({ whole: isWhole ? (list[0] ?? 0) : 0, calls: new Map(isWhole ? [] : list.entries()) });
};

const readMetrics = (metrics: unknown): Result.Result<Info, string> => {
  if (metrics === undefined || metrics === null) return Result.succeed({});
  if (!isJsonObject(metrics)) return Result.fail("metrics is no object of numbers");
  const numbers = Object.entries(metrics).map(([name, value]) => {
    const isNumber = typeof value === "number" || typeof value === "boolean";
    return [name, isNumber ? Number(value) : Number.NaN] as const;
  });
  const wrong = numbers.find(([, value]) => !Number.isFinite(value));
  if (wrong !== undefined) return Result.fail(`the metric ${wrong[0]} is no number`);
  return Result.succeed(Object.fromEntries(numbers));
};

/** Sum of all rewards. */
export const totalOf = ({ calls, whole }: Rewards): number =>
  [...calls.values()].reduce((sum, value) => sum + value, whole);

/**
 * Reads what an agent says of its episode: `reward` or `turns`, `success` (default: a total above 0) and `metrics`. `reported` are rewards that
 * it gave before, by control routes; null for none. A failure is a sentence.
 */
export const readOutcome = (value: unknown, reported: Rewards | null = null): Result.Result<AgentResult, string> =>
  Result.gen(function* () {
    if (!isJsonObject(value) && reported === null) return yield* Result.fail("it gave no outcome: { reward: number }");
    const outcome = isJsonObject(value) ? value : {};
    const unknown = Object.keys(outcome).find((key) => !outcomeKeys.includes(key));
    if (unknown !== undefined) {
      return yield* Result.fail(
        `its outcome has the key ${JSON.stringify(unknown)}; it may have ${outcomeKeys.join(", ")}`,
      );
    }
    const rewards = (yield* readRewards(outcome)) ?? reported;
    if (rewards === null) return yield* Result.fail("its outcome has neither reward nor turns");
    const { success } = outcome;
    if (success !== undefined && success !== null && typeof success !== "boolean") {
      return yield* Result.fail(`success is ${JSON.stringify(success)}: true or false is expected`);
    }
    const metrics = yield* readMetrics(outcome.metrics);
    return { rewards, success: success ?? totalOf(rewards) > 0, metrics };
  });
