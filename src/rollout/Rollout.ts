/**
 * The tasks, texts and limits that episodes are played with, made once per run. A `PlayMode` holds the difference between training and
 * validation. Both are immutable.
 */
import { type Effect, identity } from "effect";
import type { RunConfig } from "../config/RunConfig.ts";
import type { Version } from "../domain/Episode.ts";
import type { BadInput, EnvironmentError, PolicyError } from "../domain/Errors.ts";
import type { Group, Prompt } from "../domain/Group.ts";
import type { Split } from "../env/contract/Environment.ts";
import type { Policy, Sampling } from "../generation/Policy.ts";
import type { ChatTemplate } from "../model/tokenizer/ChatTemplate.ts";
import { piecesOf } from "../model/tokenizer/pieces.ts";
import type { Tokenizer } from "../model/tokenizer/Tokenizer.ts";
import { compact } from "./compact.ts";
import type { PromptWriter, ToolDialogue } from "./Dialogue.ts";
import type { PenaltyKeys } from "./penalties.ts";
import { ragen } from "./ragen.ts";
import type { Task } from "./Task.ts";
import type { Template, TemplateOptions } from "./Template.ts";

/** Plays a group without an environment of ours. */
export type PlayGroup = (
  rollout: Rollout,
  mode: PlayMode,
  prompt: Prompt,
) => Effect.Effect<Group, BadInput | PolicyError | EnvironmentError, Policy>;

export interface Rollout extends PromptWriter {
  /** Players of tags that are no environment's: agents of users. Absent where there are none. */
  readonly players?: ReadonlyMap<string, PlayGroup>;
  readonly tasks: ReadonlyMap<string, Task>;
  /** Dialogues of the tasks that offer tools, by tag; absent where none does. */
  readonly toolDialogues?: ReadonlyMap<string, ToolDialogue>;
  readonly decode: Tokenizer["decode"];
  /** The text of each id of a reply; joined, the reply. */
  readonly pieces: (ids: Iterable<number>) => readonly string[];
  /** The number of ids at a chat's opening that are never trained on; absent where no prompt is trained on. */
  readonly unseen?: ChatTemplate["beforeUser"];
  /** Penalties that turns take off their episode's reward. */
  readonly penalties: PenaltyKeys;
  /** Seed of the sampling and noise streams. */
  readonly seed: number;
}

export interface PlayMode {
  readonly split: Split;
  readonly sampling: Sampling;
  /** The one weights version of a validation, or of a group under a fixed lag; null follows the newest. */
  readonly pin: Version | null;
  /** Tells by its content key whether an instance must not be played; training excludes validation's instances. */
  readonly isExcluded: (contentKey: string) => boolean;
  /**
   * Wraps every episode of a group, also one that failed before it began. Lockstep counts episodes in and out; permits let urgent episodes
   * go first.
   */
  readonly wrapEpisode: <A, E, R>(episode: Effect.Effect<A, E, R>, urgent: boolean) => Effect.Effect<A, E, R>;
}

/** Templates by the names that `rollout.template` takes. */
export const templates: Readonly<Record<RunConfig["rollout"]["template"], (options: TemplateOptions) => Template>> = {
  ragen,
  compact,
};

export const make = (
  config: RunConfig,
  tasks: Iterable<Task>,
  chat: ChatTemplate,
  tokenizer: Pick<Tokenizer, "decode" | "bytesOf">,
): Rollout => ({
  tasks: new Map(Array.from(tasks, (task) => [task.tag, task])),
  template: templates[config.rollout.template]({
    think: config.rollout.enable_think,
    separator: config.rollout.action_sep,
  }),
  chat,
  decode: tokenizer.decode,
  pieces: (ids) => piecesOf(tokenizer.bytesOf, ids),
  limits: config.rollout,
  ...(config.rollout.enable_response_mask ? {} : { unseen: chat.beforeUser }),
  penalties: config.es_manager,
  seed: config.run.seed,
});

const truncation = (config: RunConfig): Omit<Sampling, "temperature"> => ({
  topK: config.generation.top_k,
  topP: config.generation.top_p,
});

/** Training: the newest weights, and none of the instances in `heldOut`. */
export const trainingMode = (config: RunConfig, heldOut: ReadonlySet<string>): PlayMode => ({
  split: "train",
  sampling: { temperature: config.generation.temperature, ...truncation(config) },
  pin: null,
  isExcluded: (contentKey) => heldOut.has(contentKey),
  wrapEpisode: identity,
});

/** Training's episodes for the analysis of one weights version; none is counted among training's. */
export const analysisMode = (training: PlayMode, version: Version): PlayMode => ({
  ...training,
  pin: version,
  wrapEpisode: identity,
});

/** Validation of one weights version. */
export const validationMode = (config: RunConfig, version: Version): PlayMode => ({
  split: "val",
  sampling: { temperature: config.es_manager.val.temperature, ...truncation(config) },
  pin: version,
  isExcluded: () => false,
  wrapEpisode: identity,
});
