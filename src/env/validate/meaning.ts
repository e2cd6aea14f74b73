/** What makes an environment worth training on: its solver solves, doing nothing and chance do not, and no text gives the answer away. */
import { type Check, fail, type Scene, seeds, skip } from "./Check.ts";
import { type Act, anyAction, instanceOf, noiseOf, type Played } from "./players.ts";

/** Draws of noise under which a plan may succeed, where steps are noisy. */
const draws = 64;

/** Episodes of each instance that are averaged, and the most actions of each: an expert that searches takes long. */
const members = 2;
const instances = seeds.slice(0, 12);
const longest = 30;

/** The solver of the environment without noise; ends the check where there is none. */
const solverOf = ({ certain }: Scene) => {
  if (certain.asynchronous || certain.solve === null) return skip("it has no solver");
  return { environment: certain, solve: certain.solve };
};

const inOrder = (plan: readonly string[]): Act => {
  let at = 0;
  return () => plan[at++] ?? null;
};

/** The plan of an instance as it stands, and where steps are noisy the solver's next actions under other draws. */
const solved = async (scene: Scene, seed: number, plan: readonly string[]): Promise<Played> => {
  const { environment, solve } = solverOf(scene);
  let played = await scene.by(inOrder(plan), seed, 8, environment, plan.length);
  const next: Act = (state) => solve(state)?.[0] ?? null;
  for (let draw = 0; !played.success && scene.subject.certain === undefined && draw < draws; draw++) {
    played = await scene.by(next, seed, 10 + draw, environment);
  }
  return played;
};

const solves = async (scene: Scene): Promise<string> => {
  const { environment, solve } = solverOf(scene);
  let total = 0;
  for (const seed of seeds) {
    const start = environment.reset(instanceOf(seed), "train");
    const plan = solve(start);
    if (plan === null) return fail(`the solver has no plan for seed ${seed}`);
    const played = await solved(scene, seed, plan);
    if (!played.success) return fail(`the plan of seed ${seed} does not succeed: ${plan.slice(0, 5).join(" || ")}`);
    total += played.reward;
    if (scene.subject.certain === undefined) continue;
    if (played.transitions.length !== plan.length) return fail(`the plan of seed ${seed} is longer than its episode`);
    const rest = solve(played.transitions[0]?.state)?.length;
    if (rest !== plan.length - 1) return fail(`after its first action the plan of seed ${seed} is not one shorter`);
  }
  return `return ${(total / seeds.length).toFixed(2)}`;
};

const thinks = async (scene: Scene): Promise<string> => {
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

const advises = async ({ environment }: Scene): Promise<string> => {
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

interface Level {
  readonly reward: number;
  readonly success: number;
}

/** Mean return and share of success of a player. */
const levelOf = async (scene: Scene, act: Act, environment = scene.environment): Promise<Level> => {
  let [reward, success] = [0, 0];
  const count = instances.length * members;
  const most = Math.min(longest, scene.subject.actions);
  for (const seed of instances) {
    for (let member = 0; member < members; member++) {
      const played = await scene.by(act, seed, 100 + member, environment, most);
      reward += played.reward;
      success += Number(played.success);
    }
  }
  return { reward: reward / count, success: success / count };
};

const percent = (share: number): string => `${Math.round(100 * share)} %`;
const shownLevel = ({ reward, success }: Level): string => `return ${reward.toFixed(2)}, success ${percent(success)}`;

/** That a player who knows nothing stays below the expert; below success everywhere, where there is no expert. */
const below = async (scene: Scene, act: Act): Promise<string> => {
  const floor = await levelOf(scene, act);
  const measured = shownLevel(floor);
  if (floor.success >= 1) return fail(`it succeeds always: ${measured}`);
  const { expert } = scene;
  if (expert === null) return measured;
  const top = await levelOf(scene, expert, scene.certain);
  const compared = `${measured}; the expert ${shownLevel(top)}`;
  return floor.reward < top.reward ? compared : fail(compared);
};

/** The empty answer; where actions are listed, the first of them over and over. */
const idle = (scene: Scene): Act => {
  return (state) => {
    const names = scene.environment.actions(state);
    return names === null ? "" : (names[0] ?? null);
  };
};

const nothing = (scene: Scene): Promise<string> => below(scene, idle(scene));
const chance = (scene: Scene): Promise<string> => below(scene, anyAction(scene.environment));

/** Ways in which a plan of several actions may be written. */
const spellings = [" ", ", ", " || ", ""];

const isWord = (text: string, part: string): boolean => {
  const escaped = part.replace(/[.*+?^${}()|[\]\\]/g, "\\$&");
  return new RegExp(`(?<![\\p{L}\\p{N}])${escaped}(?![\\p{L}\\p{N}])`, "u").test(text);
};

/** What would give an instance away: its answer where actions are free text, else its plan of three actions or more. */
const secretsOf = (plan: readonly string[], isFree: boolean): readonly string[] => {
  if (isFree) return plan.filter((action) => action.trim() !== "");
  return plan.length < 3 ? [] : spellings.map((between) => plan.join(between));
};

/** Texts share words with answers by chance: a leak is an answer that stands in its own text far more often than in others'. */
const noLeak = async (scene: Scene): Promise<string> => {
  const { environment, solve } = solverOf(scene);
  const shown = seeds.map((seed) => {
    const start = environment.reset(instanceOf(seed), "train");
    const secrets = secretsOf(solve(start) ?? [], environment.actions(start) === null);
    const text = `${environment.render(start)}\n${environment.compact(start)}\n${environment.legend}`;
    return { secrets, text };
  });
  const known = shown.filter(({ secrets }) => secrets.length > 0);
  if (known.length === 0) return skip("plans are too short to be recognised in a text");
  const stands = (text: string, secrets: readonly string[]) => secrets.some((secret) => isWord(text, secret));
  const own = known.filter(({ secrets, text }) => stands(text, secrets)).length / known.length;
  const others = known.filter(({ text }, at) => stands(text, known[(at + 1) % known.length]?.secrets ?? []));
  const foreign = others.length / known.length;
  const measured = `an answer stands in its own text in ${percent(own)}, in another's in ${percent(foreign)}`;
  return own - foreign > 0.5 ? fail(measured) : measured;
};

export const meaning: readonly Check[] = [
  { name: "the solver reaches success on every instance", run: solves },
  { name: "a thought names the plan's first action", run: thinks },
  { name: "advice is legal", run: advises },
  { name: "doing nothing stays below", run: nothing },
  { name: "random play stays below", run: chance },
  { name: "no answer is visible in the text", run: noLeak },
];
