/** The till of the examples, played over a tokenizer by replies that are given as messages. */
import { join } from "node:path";
import { Effect, Layer, Result } from "effect";
import { concatIds } from "../../../src/domain/Batch.ts";
import type { AssistantMessage, Message } from "../../../src/domain/Conversation.ts";
import { type Episode, type Sampled, turnsOf } from "../../../src/domain/Episode.ts";
import type { AnyEnvironment } from "../../../src/env/contract/BoundEnvironment.ts";
import { decodePreset, loadRegistry } from "../../../src/env/games/registry.ts";
import * as StepPool from "../../../src/env/pool/StepPool.ts";
import * as ChatTemplate from "../../../src/model/tokenizer/ChatTemplate.ts";
import * as ConversationTemplate from "../../../src/model/tokenizer/conversation/ConversationTemplate.ts";
import { nanoTokenizer } from "../../../src/model/tokenizer/NanoVocabulary.ts";
import { piecesOf } from "../../../src/model/tokenizer/pieces.ts";
import * as Tokenizer from "../../../src/model/tokenizer/Tokenizer.ts";
import * as Group from "../../../src/rollout/group.ts";
import type { Rollout } from "../../../src/rollout/Rollout.ts";
import { fromPreset, type Task } from "../../../src/rollout/Task.ts";
import { toolDialogue } from "../../../src/rollout/tools/toolDialogue.ts";
import { promptOf } from "../../build/groups.ts";
import { fakePolicy, rollout, training } from "../fakes.ts";

export const tillPath = join(import.meta.dirname, "../../../docs/examples/environment/till.ts");

export const till: AnyEnvironment = Result.getOrThrow(
  decodePreset("Till", { env_type: tillPath, env_config: {} }, await loadRegistry([tillPath])),
);

const preset = {
  env_type: tillPath,
  max_actions_per_traj: 9,
  env_instruction: "What do these cost?",
  max_tokens: 100,
  memory: "simple",
  env_config: {},
  levels: {},
  wrappers: [],
} as const;

export const task: Task = fromPreset("Till", preset, till);

/** A tokenizer with its templates: the small model's, or that of a fixture's folder. */
export const family = Effect.fnUntraced(function* (name: string) {
  const folder = join(import.meta.dirname, "../../fixtures/chat-templates", name);
  const tokenizer = yield* name === "nano" ? Tokenizer.make(nanoTokenizer()) : Tokenizer.load(folder);
  return {
    tokenizer,
    chat: yield* ChatTemplate.make(tokenizer),
    conversation: yield* ConversationTemplate.make(tokenizer),
  };
});
export type Family = Effect.Success<ReturnType<typeof family>>;

export const rolloutOf = (
  { chat, conversation, tokenizer }: Family,
  prefix: string,
  limits: Partial<Rollout["limits"]> = {},
): Rollout => ({
  ...rollout({ template: "compact", enable_think: false, max_turn: 8, response_length: 60, ...limits }, task),
  chat,
  decode: tokenizer.decode,
  pieces: (ids) => piecesOf(tokenizer.bytesOf, ids),
  toolDialogues: new Map([["Till", toolDialogue(conversation, task, prefix)]]),
});

const reply = (ids: Int32Array, finish: Sampled["finish"]): Sampled => {
  const each = new Float32Array(ids.length);
  return { ids, mu: each, versions: new Int32Array(ids.length), entropies: each, finish };
};

/** The reply of a turn: ids with their end, or a text; one that is cut has no end. */
export type Reply = Int32Array | string | { readonly cut: string };

export interface PlayedTill {
  readonly episode: Episode;
  /** Prompts and replies of all turns, end to end. */
  readonly ids: Int32Array;
}

/** Plays the one member of a group by replies in order, the last one repeated. */
export const play = Effect.fnUntraced(function* (
  rolloutPlayed: Rollout,
  { chat, tokenizer }: Family,
  replies: readonly Reply[],
  environment: AnyEnvironment = till,
) {
  const policy = fakePolicy((_, turn) => {
    const given = replies[Math.min(turn, replies.length) - 1] ?? "";
    if (given instanceof Int32Array) return Effect.succeed(reply(given, "stop"));
    if (typeof given !== "string") return Effect.succeed(reply(tokenizer.encode(given.cut), "length"));
    return Effect.succeed(reply(Int32Array.of(...tokenizer.encode(given), chat.endId), "stop"));
  });
  const layer = Layer.merge(policy.layer, StepPool.layerInline(new Map([["Till", environment]])));
  const prompt = promptOf(0, 1, { tag: "Till", seed: 1 });
  const { episodes } = yield* Effect.provide(Group.play(rolloutPlayed, training, prompt), layer);
  const [episode] = episodes;
  if (episode === undefined) throw new Error("no episode");
  const ids = concatIds(turnsOf(episode).flatMap(({ prompt: shown, sampled }) => [shown, sampled.ids]));
  const result: PlayedTill = { episode, ids };
  return result;
});

/** The ids of a reply behind messages, with its end, as the template writes the whole conversation. */
export const replyIds = Effect.fnUntraced(function* (
  { chat, conversation }: Family,
  before: readonly Message[],
  message: AssistantMessage,
  prefix: string,
) {
  const tools = task.tools ?? [];
  const prompt = yield* conversation.opening({ tools, messages: before }, prefix);
  const whole = yield* conversation.opening({ tools, messages: [...before, message] }, prefix);
  return whole.slice(prompt.length, whole.indexOf(chat.endId, prompt.length) + 1);
});
