/** Checks that an environment is worth training on: its solver solves, idle and random play do not, and no text gives the answer away. */
import { type Check, type CheckContext, fail, seeds, skip } from "./Check.ts";
import { type Act, instanceOf, noiseOf, type PlayedEpisode, randomAction } from "./players.ts";

/** A plan of an environment with noisy steps may try so many draws of noise. */
const noiseDraws = 64;

/** A player's score averages `members` episodes of each instance, of `maxActions` actions at most, because an expert that searches takes long. */
const members = 2;
const instances = seeds.slice(0, 12);
const maxActions = 30;

/** The solver of the environment without noise. It ends the check where there is none. */
const solverOf = ({ certain }: CheckContext) => {
  if (certain.asynchronous || certain.solve === null) return skip("it has no solver");
  return { environment: certain, solve: certain.solve };
};

const playPlan = (plan: readonly string[]): Act => {
  let at = 0;
  return () => plan[at++] ?? null;
};

/** Plays the plan of an instance as it stands; if steps are noisy, it also plays the solver's next actions under other draws. */
const playSolution = async (scene: CheckContext, seed: number, plan: readonly string[]): Promise<PlayedEpisode> => {
  const { environment, solve } = solverOf(scene);
  let episode = await scene.episodeBy(playPlan(plan), seed, 8, environment, plan.length);
  const next: Act = (state) => solve(state)?.[0] ?? null;
  for (let draw = 0; !episode.success && scene.subject.certain === undefined && draw < noiseDraws; draw++) {
    episode = await scene.episodeBy(next, seed, 10 + draw, environment);
  }
  return episode;
};

const solverSucceeds = async (scene: CheckContext): Promise<string> => {
  const { environment, solve } = solverOf(scene);
  let total = 0;
  for (const seed of seeds) {
    const start = environment.reset(instanceOf(seed), "train");
    const plan = solve(start);
    if (plan === null) return fail(`the solver has no plan for seed ${seed}`);
    const episode = await playSolution(scene, seed, plan);
    if (!episode.success) return fail(`the plan of seed ${seed} does not succeed: ${plan.slice(0, 5).join(" || ")}`);
    total += episode.reward;
    if (scene.subject.certain === undefined) continue;
    if (episode.transitions.length !== plan.length) return fail(`the plan of seed ${seed} is longer than its episode`);
    const rest = solve(episode.transitions[0]?.state)?.length;
    if (rest !== plan.length - 1) return fail(`after its first action the plan of seed ${seed} is not one shorter`);
  }
  return `return ${(total / seeds.length).toFixed(2)}`;
};

const thoughtNamesAction = async (scene: CheckContext): Promise<string> => {
  const { environment, solve } = solverOf(scene);
  for (const seed of seeds) {
    const start = environment.reset(instanceOf(seed), "train");
    const plan = solve(start) ?? [];
    const thought = environment.thought(start, plan);
    if (environment.thought(structuredClone(start), plan) !== thought) return fail(`seed ${seed} has two thoughts`);
    const [first = ""] = plan;
    if (thought !== "" && !thought.includes(first)) return fail(`the thought of seed ${seed} does not name ${first}`);
  }
  return "";
};

const adviceIsLegal = async ({ environment }: CheckContext): Promise<string> => {
  if (environment.asynchronous || environment.advise === null) return skip("it has no adviser");
  for (const seed of seeds) {
    const start = environment.reset(instanceOf(seed), "train");
    const action = environment.advise(start);
    if (action === null) return fail(`there is no advice for seed ${seed}`);
    if (environment.advise(structuredClone(start)) !== action) return fail(`seed ${seed} has two pieces of advice`);
    const { info } = environment.step(start, action, noiseOf(seed, 5, 0));
    if (!info.action_is_valid) return fail(`the advice for seed ${seed} is not legal`);
  }
  return "";
};

interface PlayerScore {
  readonly reward: number;
  readonly success: number;
}

/** The mean return and the share of successes of a player. */
const scoreOf = async (scene: CheckContext, act: Act, environment = scene.environment): Promise<PlayerScore> => {
  let [reward, success] = [0, 0];
  const count = instances.length * members;
  const actionLimit = Math.min(maxActions, scene.subject.actions);
  for (const seed of instances) {
    for (let member = 0; member < members; member++) {
      const episode = await scene.episodeBy(act, seed, 100 + member, environment, actionLimit);
      reward += episode.reward;
      success += Number(episode.success);
    }
  }
  return { reward: reward / count, success: success / count };
};

const percent = (share: number): string => `${Math.round(100 * share)} %`;
const scoreText = ({ reward, success }: PlayerScore): string =>
  `return ${reward.toFixed(2)}, success ${percent(success)}`;

/** Checks that a player who knows nothing stays below the expert, or does not always succeed where there is no expert. */
const staysBelowExpert = async (scene: CheckContext, act: Act): Promise<string> => {
  const floor = await scoreOf(scene, act);
  const measured = scoreText(floor);
  if (floor.success >= 1) return fail(`it succeeds always: ${measured}`);
  const { expert } = scene;
  if (expert === null) return `${measured}; there is no expert, so any share below 100 % passes`;
  const top = await scoreOf(scene, expert, scene.certain);
  const compared = `${measured}; the expert ${scoreText(top)}`;
  return floor.reward < top.reward ? compared : fail(compared);
};

/** A player that gives the empty answer, or repeats the first listed action. */
const idlePlayer = (scene: CheckContext): Act => {
  return (state) => {
    const names = scene.environment.actions(state);
    return names === null ? "" : (names[0] ?? null);
  };
};

const idleStaysBelow = (scene: CheckContext): Promise<string> => staysBelowExpert(scene, idlePlayer(scene));
const randomStaysBelow = (scene: CheckContext): Promise<string> =>
  staysBelowExpert(scene, randomAction(scene.environment));

/** Separators with which a text may write a plan of several actions. */
const spellings = [" ", ", ", " || ", ""];

const isWord = (text: string, part: string): boolean => {
  const escaped = part.replace(/[.*+?^${}()|[\]\\]/g, "\\$&");
  return new RegExp(`(?<![\\p{L}\\p{N}])${escaped}(?![\\p{L}\\p{N}])`, "u").test(text);
};

/** The texts that would give an instance away: its answer if actions are free text, else its plan of three actions or more. */
const secretsOf = (plan: readonly string[], isFree: boolean): readonly string[] => {
  if (isFree) return plan.filter((action) => action.trim() !== "");
  return plan.length < 3 ? [] : spellings.map((between) => plan.join(between));
};

/** Texts share words with answers by chance, so a leak is an answer that stands in its own text far more often than in others'. */
const answerIsHidden = async (scene: CheckContext): Promise<string> => {
  const { environment, solve } = solverOf(scene);
  const instances = seeds.map((seed) => {
    const start = environment.reset(instanceOf(seed), "train");
    const secrets = secretsOf(solve(start) ?? [], environment.actions(start) === null);
    const text = `${environment.render(start)}\n${environment.compact(start)}\n${environment.legend}`;
    return { secrets, text };
  });
  const recognisable = instances.filter(({ secrets }) => secrets.length > 0);
  if (recognisable.length === 0) return skip("plans are too short to be recognised in a text");
  const contains = (text: string, secrets: readonly string[]) => secrets.some((secret) => isWord(text, secret));
  const ownShare = recognisable.filter(({ secrets, text }) => contains(text, secrets)).length / recognisable.length;
  const withForeignAnswer = recognisable.filter(({ text }, at) =>
    contains(text, recognisable[(at + 1) % recognisable.length]?.secrets ?? []),
  );
  const otherShare = withForeignAnswer.length / recognisable.length;
  const measured = `an answer stands in its own text in ${percent(ownShare)}, in another's in ${percent(otherShare)}`;
  return ownShare - otherShare > 0.5 ? fail(measured) : measured;
};

export const trainingChecks: readonly Check[] = [
  { name: "the solver reaches success on every instance", run: solverSucceeds },
  { name: "a thought names the plan's first action", run: thoughtNamesAction },
  { name: "advice is legal", run: adviceIsLegal },
  { name: "doing nothing stays below", run: idleStaysBelow },
  { name: "random play stays below", run: randomStaysBelow },
  { name: "no answer is visible in the text", run: answerIsHidden },
];
