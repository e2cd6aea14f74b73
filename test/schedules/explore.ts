/**
 * Explores schedules, one a seed. A seed is checked against the invariants, and where its outcome is promised also against the same run,
 * undisturbed, at other speeds and in another order of fibers.
 */
import { Cause, Exit } from "effect";
import type { Fates } from "../engine/fakes.ts";
import { isPromisedEqual, outcomeOf, violations } from "./invariants.ts";
import { type Life, play } from "./playSchedule.ts";
import { draws, type Schedule, scheduleOf } from "./Schedule.ts";

const ofOtherSpeeds = 1_000;

/** The same fates at other speeds. */
const atOtherSpeeds =
  ({ fates, seed }: Schedule): Fates =>
  (group, member) => {
    const random = draws(seed, ofOtherSpeeds, group, member);
    return { ...fates(group, member), replyMs: random.int(40), stepMs: random.int(8) };
  };

const undisturbed = (schedule: Schedule): Schedule => ({
  ...schedule,
  controls: [],
  end: { kind: "none", at: 0 },
  fates: atOtherSpeeds(schedule),
  yieldEvery: 0,
});

const livesOf = async (schedule: Schedule, order = 0): Promise<readonly Life[] | string> => {
  try {
    const exit = await play(schedule, order);
    return Exit.isSuccess(exit) ? exit.value : Cause.pretty(exit.cause);
  } catch (error) {
    return String(error);
  }
};

/** Plays a seed and says in sentences which invariants are broken. */
export const problemsOf = async (seed: number): Promise<readonly string[]> => {
  const schedule = scheduleOf(seed);
  const lives = await livesOf(schedule);
  if (typeof lives === "string") return [lives];
  const problems = violations(schedule, lives);
  // A run that ended early and left no checkpoint to go on from has no outcome.
  const isWhole = lives.at(-1)?.observed?.ended.reason === "complete";
  if (problems.length > 0 || !isPromisedEqual(schedule) || !isWhole) return problems;
  const others = await livesOf(undisturbed(schedule), 1);
  if (typeof others === "string") return [`undisturbed: ${others}`];
  const [outcome, expected] = [outcomeOf(lives), outcomeOf(others)];
  const differing = expected.findIndex((line, i) => line !== outcome[i]);
  return differing < 0 && outcome.length === expected.length
    ? violations(undisturbed(schedule), others).map((problem) => `undisturbed: ${problem}`)
    : [`the outcome is "${outcome[differing]}", and undisturbed "${expected[differing]}"`];
};

/** Explains a failing seed, with the command that runs it again. */
export const failureOf = (seed: number, problems: readonly string[]): string => {
  const { config, controls, end, mode } = scheduleOf(seed);
  const { filter, generation, pipeline } = config;
  const shape = { mode, max_staleness: pipeline.max_staleness, slots: generation.slots, refill: filter.refill };
  return [
    `schedule ${seed} fails: ${problems.slice(0, 5).join("; ")}`,
    `  ${JSON.stringify({ ...shape, controls, end })}`,
    `  MILLRACE_SCHEDULES=1 MILLRACE_SCHEDULES_SEED=${seed} npm run test:schedules -- first`,
  ].join("\n");
};

/** The first failure among the seeds, explained; null if there is none. */
export const explore = async (seeds: Iterable<number>): Promise<string | null> => {
  for (const seed of seeds) {
    const problems = await problemsOf(seed);
    if (problems.length > 0) return failureOf(seed, problems);
  }
  return null;
};
