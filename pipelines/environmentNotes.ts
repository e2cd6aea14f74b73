/** Notes on an environment that keeps its contract, for one who is about to train on it: a sentence each. */
import { groupsOf, withLevels } from "../src/config/levels.ts";
import type { RunConfig } from "../src/config/RunConfig.ts";
import { stream } from "../src/domain/Random.ts";
import type { AnyEnvironment, BoundEnvironment } from "../src/env/contract/BoundEnvironment.ts";
import { callDrawer } from "../src/env/validate/drawCall.ts";
import { instanceOf, type PlayedEpisode, playEpisode, randomAction } from "../src/env/validate/players.ts";
import type { Tokenizer } from "../src/model/tokenizer/Tokenizer.ts";
import { instanceKey } from "../src/rollout/keys.ts";
import * as Seeds from "../src/rollout/seeds.ts";
import { unknownNamesSentence } from "./actionNames.ts";

/** Episodes that are played, and training instances that are drawn. */
const sampleSize = 64;
/** Most instances of validation that are made. */
const mostValidation = 1_024;

const instructionSentence = (tag: string, { custom_envs }: RunConfig): string | undefined =>
  withLevels(custom_envs)[tag]?.env_instruction.trim() === ""
    ? `custom_envs.${tag}.env_instruction is empty: the prompt does not say what the task is`
    : undefined;

const keyOf = (environment: BoundEnvironment, seed: number, split: "train" | "val"): string =>
  environment.contentKey(environment.reset(stream(instanceKey(seed)), split));

/** Counts the training instances that this run leaves out because its validation plays them; undefined up to half of them. */
const overlapSentence = (tag: string, environment: BoundEnvironment, config: RunConfig): string | undefined => {
  const { train, val } = config.es_manager;
  const validation = Seeds.validation(groupsOf(config, "val"), 0, 0).filter((prompt) => prompt.tag === tag);
  const heldOut = new Set(validation.slice(0, mostValidation).map(({ seed }) => keyOf(environment, seed, "val")));
  const drawn = Array.from({ length: sampleSize }, (_, at) => keyOf(environment, train.seed + at, "train"));
  const shared = drawn.filter((key) => heldOut.has(key)).length;
  if (shared <= sampleSize / 2) return undefined;
  return `${shared} of ${sampleSize} training instances are among the ${heldOut.size} that this run validates on, and are left out: lower es_manager.val.env_groups (${val.env_groups}) and n_groups, or draw more varied instances`;
};

/**
 * A sentence on random episodes that succeed. Without a reward they are wrong ends that count as successes, since `defineEnvironment` takes
 * `terminated` for one; where most succeed, little is left to learn.
 */
const randomPlaySentence = async (tag: string, environment: AnyEnvironment, actions: number) => {
  const act = randomAction(environment);
  const { signal } = new AbortController();
  const episodes: PlayedEpisode[] = [];
  for (let seed = 0; seed < sampleSize; seed++)
    episodes.push(await playEpisode(environment, { act, seed, member: 9, maxActions: actions }, signal));
  const succeeded = episodes.filter(({ success }) => success);
  const unpaid = succeeded.filter(({ reward }) => reward <= 0).length;
  const share = Math.round((100 * succeeded.length) / sampleSize);
  const easy = `random play of ${tag} succeeds in ${share} % of the episodes, which leaves little to learn: make it harder`;
  if (unpaid === 0) return share > 50 ? easy : undefined;
  return `${unpaid} of ${succeeded.length} random episodes of ${tag} that succeed earn nothing: a step that ends an episode without success returns success: false`;
};

const undrawnSentence = (tag: string, { tools }: AnyEnvironment): string | undefined => {
  const { undrawn } = callDrawer(tools ?? []);
  if (undrawn.length === 0) return undefined;
  return `random play of ${tag} calls no ${undrawn.join(", ")}: arguments are drawn where they are an enumeration, a number, a text, or true or false`;
};

export interface NotedEnvironment {
  readonly tag: string;
  readonly environment: AnyEnvironment;
  readonly config: RunConfig;
  /** Tokenizer of the embedded model; null where the run trains another. */
  readonly tokenizer: Pick<Tokenizer, "encode"> | null;
  /** The most actions of one episode. */
  readonly actions: number;
}

export const environmentNotes = async ({
  actions,
  config,
  environment,
  tag,
  tokenizer,
}: NotedEnvironment): Promise<readonly string[]> => {
  const first = environment.asynchronous ? null : environment.actions(environment.reset(instanceOf(0), "train"));
  const notes = [
    instructionSentence(tag, config),
    tokenizer === null ? undefined : unknownNamesSentence(tag, first, tokenizer),
    undrawnSentence(tag, environment),
    environment.asynchronous ? undefined : overlapSentence(tag, environment, config),
    environment.asynchronous ? undefined : await randomPlaySentence(tag, environment, actions),
  ];
  return notes.filter((note) => note !== undefined);
};
