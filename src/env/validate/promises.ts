/** What the engine builds on: an environment is deterministic given its streams, its states are data, its transitions are well formed. */
import { isDeepStrictEqual } from "node:util";
import { IllegalAction } from "../contract/IllegalAction.ts";
import { type Check, fail, type Scene, seeds, skip } from "./Check.ts";
import { noiseOf, type Played, placeOf, stepped } from "./players.ts";

/** Freezes a state of plain data deeply, so that any mutation throws. */
const deepFreeze = (value: unknown): unknown => {
  if (typeof value === "object" && value !== null && !Object.isFrozen(value)) {
    Object.freeze(value);
    for (const inner of Object.values(value)) deepFreeze(inner);
  }
  return value;
};

const same = (a: unknown, b: unknown, reason: () => string): void => {
  if (!isDeepStrictEqual(a, b)) fail(reason());
};

/** Calls `look` with an episode of every seed. */
const inEpisodes = async (scene: Scene, member: number, look: (played: Played, seed: number) => void) => {
  for (const seed of seeds) look(await scene.episode(seed, member), seed);
};

const sameInstance = async (scene: Scene): Promise<string> => {
  for (const split of ["train", "val"] as const) {
    for (const seed of seeds) {
      same(await scene.start(seed, split), await scene.start(seed, split), () => `seed ${seed} gave two instances`);
    }
  }
  return "";
};

const sameTransitions = async (scene: Scene): Promise<string> => {
  for (const seed of seeds) {
    same(await scene.episode(seed, 1), await scene.episode(seed, 1), () => `two episodes of seed ${seed} differ`);
  }
  return "";
};

const neverMutates = async (scene: Scene): Promise<string> => {
  const { environment, signal } = scene;
  for (const seed of seeds) {
    const { actions } = await scene.episode(seed, 2);
    let state = deepFreeze(await scene.start(seed));
    for (const [at, action] of actions.entries()) {
      environment.render(state);
      environment.compact(state);
      environment.actions(state);
      environment.contentKey(state);
      if (!environment.asynchronous) environment.solve?.(state);
      state = deepFreeze((await stepped(environment, state, action, { seed, member: 2, at }, signal)).state);
    }
    await scene.release(state);
  }
  return "";
};

const clones = async (scene: Scene): Promise<string> => {
  const { environment, signal } = scene;
  for (const seed of seeds) {
    const whole = await scene.episode(seed, 3);
    let copied = structuredClone(await scene.start(seed));
    for (const [at, expected] of whole.transitions.entries()) {
      const action = whole.actions[at] ?? "";
      const transition = structuredClone(await stepped(environment, copied, action, { seed, member: 3, at }, signal));
      same(transition, expected, () => `action ${at + 1} of seed ${seed} leads elsewhere after a structured clone`);
      copied = transition.state;
    }
    await scene.release(copied);
  }
  return "";
};

const survivesJson = async (scene: Scene): Promise<string> => {
  for (const seed of seeds) {
    const start = await scene.start(seed);
    same(JSON.parse(JSON.stringify(start)), start, () => `the first state of seed ${seed} is not what JSON gives back`);
  }
  return "";
};

const common = ["success", "action_is_effective", "action_is_valid"];

const plainInfo = async (scene: Scene): Promise<string> => {
  await inEpisodes(scene, 4, ({ transitions }) => {
    for (const { info } of transitions) {
      const entries = Object.entries(info);
      const odd = entries.find(([, value]) => typeof value !== "boolean" && !Number.isFinite(value));
      if (odd !== undefined) fail(`info.${odd[0]} is ${String(odd[1])}`);
      const missing = common.find((key) => !Object.hasOwn(info, key));
      if (missing !== undefined) fail(`info.${missing} is missing`);
    }
  });
  return "";
};

const endsOnce = async (scene: Scene): Promise<string> => {
  await inEpisodes(scene, 5, ({ transitions }, seed) => {
    for (const { info, terminated, truncated } of transitions) {
      if (terminated && truncated) fail(`an episode of seed ${seed} is both terminated and truncated`);
      if (info.success && !terminated) fail(`an episode of seed ${seed} succeeds without being terminated`);
    }
  });
  return "";
};

const finiteRewards = async (scene: Scene): Promise<string> => {
  let [least, most] = [Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY];
  await inEpisodes(scene, 5, ({ actions, transitions }, seed) => {
    for (const [at, { reward }] of transitions.entries()) {
      const earned = () => `${placeOf(actions[at] ?? "", seed, at)} earned ${reward}`;
      if (!Number.isFinite(reward)) fail(earned());
      if (scene.environment.wholeRewards && !Number.isInteger(reward)) fail(`wholeRewards, and ${earned()}`);
      [least, most] = [Math.min(least, reward), Math.max(most, reward)];
    }
  });
  return `${least} to ${most}`;
};

/** The last transition of an episode that ended: of the subject's player, or of the expert. */
const lastOf = async (scene: Scene, seed: number) => {
  const { expert } = scene;
  const players = [() => scene.episode(seed, 6), ...(expert === null ? [] : [() => scene.by(expert, seed, 6)])];
  for (const player of players) {
    const last = (await player()).transitions.at(-1);
    if (last !== undefined && (last.terminated || last.truncated)) return last;
  }
  return null;
};

const staysEnded = async (scene: Scene): Promise<string> => {
  const { environment, signal } = scene;
  let ended = 0;
  for (const seed of seeds) {
    const last = await lastOf(scene, seed);
    if (last === null) continue;
    ended++;
    const [action = "anything"] = environment.actions(last.state) ?? [];
    const after = await stepped(
      environment,
      last.state,
      action,
      { seed, member: 6, at: scene.subject.actions },
      signal,
    );
    same(after.state, last.state, () => `a step after the end of seed ${seed} changed the state`);
    if (after.reward !== 0) fail(`a step after the end of seed ${seed} earned ${after.reward}`);
    same([after.terminated, after.truncated], [last.terminated, last.truncated], () => `seed ${seed} ended twice`);
  }
  return ended > 0 ? "" : skip(`no episode ended within ${scene.subject.actions} actions`);
};

const refusesIllegal = async (scene: Scene): Promise<string> => {
  const { environment, signal } = scene;
  const state = await scene.start(7);
  const valid = environment.actions(state);
  const step = async (action: string) => environment.step(state, action, noiseOf(7, 0, 0), signal);
  if (valid === null) {
    const { state: next } = await stepped(environment, state, "anything", { seed: 7, member: 0, at: 0 }, signal);
    await scene.release(next);
    return "free text: any text is a step";
  }
  const [first = ""] = valid;
  for (const action of ["", "jump", first.toLowerCase(), "toString"].filter((name) => !valid.includes(name))) {
    const refused = await step(action).then(
      () => fail(`step took ${JSON.stringify(action)}, which is not among actions`),
      (cause: unknown) => cause,
    );
    if (!(refused instanceof IllegalAction)) throw refused;
    same([refused.action, refused.valid], [action, valid], () => "IllegalAction names other actions");
  }
  return "";
};

const steadyTexts = async (scene: Scene): Promise<string> => {
  const { environment } = scene;
  for (const seed of seeds) {
    const state = await scene.start(seed);
    const copy = structuredClone(state);
    for (const member of ["render", "compact", "contentKey"] as const) {
      const text = environment[member](state);
      if (environment[member](copy) !== text) fail(`${member} of one state gives two texts`);
      if (text === "") fail(`${member} gives an empty text`);
    }
  }
  return "";
};

const distinct = async (scene: Scene): Promise<string> => {
  const { environment } = scene;
  const starts = await Promise.all(seeds.map((seed) => scene.start(seed)));
  const keys = new Set(starts.map((state) => environment.contentKey(state))).size;
  const texts = new Set(starts.map((state) => environment.render(state))).size;
  const measured = `${keys} content keys and ${texts} first observations of ${seeds.length} seeds`;
  return keys > seeds.length / 3 ? measured : fail(`${measured}: more than a third of the keys must differ`);
};

const splitSeeds = Array.from({ length: 64 }, (_, seed) => seed);

const splits = async (scene: Scene): Promise<string> => {
  const keysOf = async (split: "train" | "val", from: number) => {
    const keys: string[] = [];
    for (const seed of splitSeeds) keys.push(scene.environment.contentKey(await scene.start(from + seed, split)));
    return keys;
  };
  const validation = new Set(await keysOf("val", 0));
  const training = await keysOf("train", 10_000);
  const shared = training.filter((key) => validation.has(key)).length;
  const known = new Set(training).size;
  if (shared === training.length && known < splitSeeds.length / 2) {
    return skip(`it has ${known} instances, and training plays validation's where no others are left`);
  }
  if (shared === training.length) return fail("every training instance is validation's: contentKey leaves none");
  if (shared === 0) return "";
  return `${shared} of ${training.length} training instances are validation's, and left out by their content key`;
};

/** In the order in which a reader wants them: each builds on those before. */
export const promises: readonly Check[] = [
  { name: "the same seed gives the same instance", run: sameInstance },
  { name: "the same state, action and noise give the same transition", run: sameTransitions },
  { name: "no state is mutated", run: neverMutates },
  { name: "an episode goes on alike after a structured clone", run: clones },
  { name: "a state survives JSON", run: survivesJson },
  { name: "instances are distinct, and so are their content keys", run: distinct },
  { name: "training has instances that are not validation's", run: splits },
  { name: "rewards are finite", run: finiteRewards },
  { name: "info holds numbers and booleans, the three common keys among them", run: plainInfo },
  { name: "an episode is terminated or truncated, never both", run: endsOnce },
  { name: "nothing changes after the end", run: staysEnded },
  { name: "an action that is not named is refused", run: refusesIllegal },
  { name: "one state has one text, which is not empty", run: steadyTexts },
];
