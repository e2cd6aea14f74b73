/** Checks of the promises that the engine needs: environments are deterministic given their streams, states are data, transitions are well formed. */
import { isDeepStrictEqual } from "node:util";
import type { Tool } from "../../domain/Conversation.ts";
import { IllegalAction } from "../contract/IllegalAction.ts";
import { type Check, type CheckContext, fail, seeds, skip } from "./Check.ts";
import { describeAction, noiseOf, type PlayedEpisode, takeStep } from "./players.ts";

/** Freezes a state of plain data deeply, so that any mutation throws. */
const deepFreeze = (value: unknown): unknown => {
  if (typeof value === "object" && value !== null && !Object.isFrozen(value)) {
    Object.freeze(value);
    for (const inner of Object.values(value)) deepFreeze(inner);
  }
  return value;
};

const expectSame = (a: unknown, b: unknown, reason: () => string): void => {
  if (!isDeepStrictEqual(a, b)) fail(reason());
};

/** A state as it is compared: whole, or by its texts where it names something elsewhere that each episode has its own of. */
const comparable = ({ environment }: CheckContext, state: unknown): unknown =>
  environment.asynchronous
    ? [environment.render(state), environment.compact(state), environment.contentKey(state), environment.actions(state)]
    : state;

const comparableTransition = (scene: CheckContext, transition: PlayedEpisode["transitions"][number]): unknown => ({
  ...transition,
  state: comparable(scene, transition.state),
});

const comparableEpisode = (scene: CheckContext, { transitions, ...rest }: PlayedEpisode): unknown => ({
  ...rest,
  transitions: transitions.map((transition) => comparableTransition(scene, transition)),
});

/** Calls `inspect` with an episode of every seed. */
const forEachEpisode = async (
  scene: CheckContext,
  member: number,
  inspect: (played: PlayedEpisode, seed: number) => void,
) => {
  for (const seed of seeds) inspect(await scene.episode(seed, member), seed);
};

const sameInstance = async (scene: CheckContext): Promise<string> => {
  for (const split of ["train", "val"] as const) {
    for (const seed of seeds) {
      expectSame(
        await scene.start(seed, split),
        await scene.start(seed, split),
        () => `seed ${seed} gave two instances`,
      );
    }
  }
  return "";
};

const sameTransitions = async (scene: CheckContext): Promise<string> => {
  for (const seed of seeds) {
    const [first, second] = [await scene.episode(seed, 1), await scene.episode(seed, 1)];
    expectSame(
      comparableEpisode(scene, first),
      comparableEpisode(scene, second),
      () => `two episodes of seed ${seed} differ`,
    );
  }
  return "";
};

const neverMutates = async (scene: CheckContext): Promise<string> => {
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
      state = deepFreeze((await takeStep(environment, state, action, { seed, member: 2, at }, signal)).state);
    }
    await scene.release(state);
  }
  return "";
};

const survivesClone = async (scene: CheckContext): Promise<string> => {
  const { environment, signal } = scene;
  for (const seed of seeds) {
    const reference = await scene.episode(seed, 3);
    let state = structuredClone(await scene.start(seed));
    for (const [at, expected] of reference.transitions.entries()) {
      const action = reference.actions[at] ?? "";
      const transition = structuredClone(await takeStep(environment, state, action, { seed, member: 3, at }, signal));
      expectSame(
        comparableTransition(scene, transition),
        comparableTransition(scene, expected),
        () => `action ${at + 1} of seed ${seed} leads elsewhere after a structured clone`,
      );
      state = transition.state;
    }
    await scene.release(state);
  }
  return "";
};

const survivesJson = async (scene: CheckContext): Promise<string> => {
  for (const seed of seeds) {
    const start = await scene.start(seed);
    expectSame(
      JSON.parse(JSON.stringify(start)),
      start,
      () => `the first state of seed ${seed} is not what JSON gives back`,
    );
  }
  return "";
};

const commonInfo = ["success", "action_is_effective", "action_is_valid"];

const infoIsNumeric = async (scene: CheckContext): Promise<string> => {
  await forEachEpisode(scene, 4, ({ transitions }) => {
    for (const { info } of transitions) {
      const entries = Object.entries(info);
      const nonNumeric = entries.find(([, value]) => typeof value !== "boolean" && !Number.isFinite(value));
      if (nonNumeric !== undefined) fail(`info.${nonNumeric[0]} is ${String(nonNumeric[1])}`);
      const missing = commonInfo.find((key) => !Object.hasOwn(info, key));
      if (missing !== undefined) fail(`info.${missing} is missing`);
    }
  });
  return "";
};

const endsOnce = async (scene: CheckContext): Promise<string> => {
  await forEachEpisode(scene, 5, ({ transitions }, seed) => {
    for (const { info, terminated, truncated } of transitions) {
      if (terminated && truncated) fail(`an episode of seed ${seed} is both terminated and truncated`);
      if (info.success && !terminated) fail(`an episode of seed ${seed} succeeds without being terminated`);
    }
  });
  return "";
};

const rewardsAreFinite = async (scene: CheckContext): Promise<string> => {
  let [least, most] = [Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY];
  await forEachEpisode(scene, 5, ({ actions, transitions }, seed) => {
    for (const [at, { reward }] of transitions.entries()) {
      const earned = () => `${describeAction(actions[at] ?? "", seed, at)} earned ${reward}`;
      if (!Number.isFinite(reward)) fail(earned());
      if (scene.environment.wholeRewards && !Number.isInteger(reward)) fail(`wholeRewards, and ${earned()}`);
      [least, most] = [Math.min(least, reward), Math.max(most, reward)];
    }
  });
  return `${least} to ${most}`;
};

/** The last transition of an episode that ended, by the subject's player or by the expert; null where neither ended one. */
const lastTransition = async (scene: CheckContext, seed: number) => {
  const { expert } = scene;
  const players = [() => scene.episode(seed, 6), ...(expert === null ? [] : [() => scene.episodeBy(expert, seed, 6)])];
  for (const player of players) {
    const last = (await player()).transitions.at(-1);
    if (last !== undefined && (last.terminated || last.truncated)) return last;
  }
  return null;
};

const staysEnded = async (scene: CheckContext): Promise<string> => {
  const { environment, signal } = scene;
  let ended = 0;
  for (const seed of seeds) {
    const last = await lastTransition(scene, seed);
    if (last === null) continue;
    ended++;
    const [action = "anything"] = environment.actions(last.state) ?? [];
    const after = await takeStep(
      environment,
      last.state,
      action,
      { seed, member: 6, at: scene.subject.actions },
      signal,
    );
    expectSame(after.state, last.state, () => `a step after the end of seed ${seed} changed the state`);
    if (after.reward !== 0) fail(`a step after the end of seed ${seed} earned ${after.reward}`);
    expectSame(
      [after.terminated, after.truncated],
      [last.terminated, last.truncated],
      () => `seed ${seed} ended twice`,
    );
  }
  return ended > 0 ? "" : skip(`no episode ended within ${scene.subject.actions} actions`);
};

/** Checks that a call whose arguments are no object is refused, whatever its tool. */
const refusesBadCalls = async (scene: CheckContext, state: unknown, tools: readonly Tool[]): Promise<string> => {
  const { environment, signal } = scene;
  const { state: next } = await takeStep(environment, state, "anything", { seed: 7, member: 0, at: 0 }, signal);
  await scene.release(next);
  for (const action of tools.map(({ name }) => `${name}([])`)) {
    const refused = await (async () => environment.step(state, action, noiseOf(7, 0, 0), signal))().then(
      () => fail(`step took ${action}, whose arguments are no object`),
      (cause: unknown) => cause,
    );
    if (!(refused instanceof IllegalAction)) throw refused;
  }
  return `${tools.length} tools; any other text is an answer`;
};

const refusesIllegal = async (scene: CheckContext): Promise<string> => {
  const { environment, signal } = scene;
  const state = await scene.start(7);
  const valid = environment.actions(state);
  if (environment.tools !== undefined) return refusesBadCalls(scene, state, environment.tools);
  const step = async (action: string) => environment.step(state, action, noiseOf(7, 0, 0), signal);
  if (valid === null) {
    const { state: next } = await takeStep(environment, state, "anything", { seed: 7, member: 0, at: 0 }, signal);
    await scene.release(next);
    return "free text: any text is a step";
  }
  const twice = valid.find((name, at) => valid.indexOf(name) !== at);
  if (twice !== undefined) fail(`actions lists ${JSON.stringify(twice)} twice`);
  const [first = ""] = valid;
  for (const action of ["", "jump", first.toLowerCase(), "toString"].filter((name) => !valid.includes(name))) {
    const refused = await step(action).then(
      () => fail(`step took ${JSON.stringify(action)}, which is not among actions`),
      (cause: unknown) => cause,
    );
    if (!(refused instanceof IllegalAction)) throw refused;
    expectSame([refused.action, refused.valid], [action, valid], () => "IllegalAction names other actions");
  }
  return "";
};

const textsAreStable = async (scene: CheckContext): Promise<string> => {
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

const instancesAreDistinct = async (scene: CheckContext): Promise<string> => {
  const { environment } = scene;
  const starts = await Promise.all(seeds.map((seed) => scene.start(seed)));
  const keys = new Set(starts.map((state) => environment.contentKey(state))).size;
  const texts = new Set(starts.map((state) => environment.render(state))).size;
  const measured = `${keys} content keys and ${texts} first observations of ${seeds.length} seeds`;
  return keys > seeds.length / 3 ? measured : fail(`${measured}: more than a third of the keys must differ`);
};

const splitSeeds = Array.from({ length: 64 }, (_, seed) => seed);

const splitsDiffer = async (scene: CheckContext): Promise<string> => {
  const keysOf = async (split: "train" | "val", from: number) => {
    const keys: string[] = [];
    for (const seed of splitSeeds) keys.push(scene.environment.contentKey(await scene.start(from + seed, split)));
    return keys;
  };
  const validation = new Set(await keysOf("val", 0));
  const training = await keysOf("train", 10_000);
  const shared = training.filter((key) => validation.has(key)).length;
  const instanceCount = new Set(training).size;
  if (shared === training.length && instanceCount < splitSeeds.length / 2) {
    return skip(`it has ${instanceCount} instances, and training plays validation's where no others are left`);
  }
  if (shared === training.length) return fail("every training instance is validation's: contentKey leaves none");
  if (shared === 0) return "";
  return `${shared} of ${training.length} training instances are validation's, and left out by their content key`;
};

/** The checks in the order of reports: each builds on those before. */
export const contractChecks: readonly Check[] = [
  { name: "the same seed gives the same instance", run: sameInstance },
  { name: "the same state, action and noise give the same transition", run: sameTransitions },
  { name: "no state is mutated", run: neverMutates },
  { name: "an episode goes on alike after a structured clone", run: survivesClone },
  { name: "a state survives JSON", run: survivesJson },
  { name: "instances are distinct, and so are their content keys", run: instancesAreDistinct },
  { name: "training has instances that are not validation's", run: splitsDiffer },
  { name: "rewards are finite", run: rewardsAreFinite },
  { name: "info holds numbers and booleans, the three common keys among them", run: infoIsNumeric },
  { name: "an episode is terminated or truncated, never both", run: endsOnce },
  { name: "nothing changes after the end", run: staysEnded },
  { name: "an action that is not named is refused", run: refusesIllegal },
  { name: "one state has one text, which is not empty", run: textsAreStable },
];
