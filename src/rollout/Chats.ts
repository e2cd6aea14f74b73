/**
 * The chats of one episode with the policy: the one that is open in the generator, the prompt of each turn, and the recorded token
 * sequences. Invariants: at most one chat is open at a time, so an episode holds at most one slot; a sequence's ids are those shown and
 * sampled, end to end.
 */

import { Effect } from "effect";
import { concatIds } from "../domain/Batch.ts";
import type { Sequence, Turn } from "../domain/Episode.ts";
import type { PolicyError } from "../domain/Errors.ts";
import type { StepFailure } from "../env/contract/Environments.ts";
import {
  commonPrefix,
  continuesChat,
  firstTurnShown,
  fitsContext,
  isTurnLevel,
  mayRepeatTurns,
  newChatIds,
  type PlayedTurn,
  type PromptHistory,
} from "./context.ts";
import type { ChatOpening } from "./Dialogue.ts";
import { Summaries } from "./Summaries.ts";
import type { TurnState } from "./Template.ts";
import type { EpisodeContext, PromptUpdate, TurnResult } from "./turn.ts";
import { policyWriter } from "./writeSummary.ts";

export class Chats {
  readonly #context: EpisodeContext;
  readonly #opening: ChatOpening;
  readonly #summaries: Summaries<Sequence, PolicyError>;
  readonly #sequences: Sequence[] = [];
  /** The turns before, where they may be shown again. */
  readonly #history: PlayedTurn[] = [];
  /** Ids of the chat so far, in pieces, where sequences repeat them; and how many they are. */
  #pieces: Int32Array[] = [];
  #length = 0;
  /** The first turn that the chat shows. */
  #from = 1;
  /** Ids that every chat of the episode may begin with; how many of them do depends on what follows. */
  #systemIds: Int32Array | undefined;
  /** Ids from the last reply to the next one of its chat; undefined before the first, and where no chat goes on. */
  #bridge: Int32Array | undefined;
  /** The turns of the token sequence that the next reply may join. */
  #turns: Turn[] | undefined;

  constructor(context: EpisodeContext, opening: ChatOpening) {
    this.#context = context;
    this.#opening = opening;
    const { rollout, task } = context;
    this.#summaries = new Summaries(
      rollout,
      task,
      policyWriter(context, opening.system, () => this.#shared()),
    );
  }

  /** In the order they were played; one without turns where none was. */
  get sequences(): readonly Sequence[] {
    return this.#sequences.length === 0 ? [{ turns: [] }] : this.#sequences;
  }

  /** The prompt of a turn; null where it would outgrow the context. */
  show(now: TurnState): Effect.Effect<PromptUpdate | null, PolicyError> {
    const { limits } = this.#context.rollout;
    const from = firstTurnShown(limits, now.turn, this.#from);
    const isContinuing = this.#bridge !== undefined && from === this.#from;
    if (!isContinuing) return this.#open(from, now);
    const update = this.#continue(this.#bridge ?? new Int32Array(0), now);
    if (update !== null || limits.overflow === "end") return Effect.succeed(update);
    return this.#open(from + 1, now);
  }

  /** Notes the turn that came of what was shown. */
  add({ record }: TurnResult): void {
    this.#note(record.sampled.ids);
    if (this.#turns === undefined) {
      this.#turns = [];
      this.#sequences.push({ turns: this.#turns });
    }
    this.#turns.push(record);
    if (isTurnLevel(this.#context.rollout.limits)) this.#turns = undefined;
  }

  /** Goes on from a turn to the one after it. */
  startNextTurn(before: TurnState, result: TurnResult, next: TurnState): Effect.Effect<void, StepFailure> {
    const { dialogue, rollout, task } = this.#context;
    const { canonical, invalid, record } = result;
    const { actions, executed, info, reward, sampled } = record;
    const outcome = { reward, executed, invalid };
    return Effect.map(dialogue.bridge(rollout, task, sampled, { ...result, ...outcome }, next), (bridge) => {
      this.#bridge = bridge;
      if (!mayRepeatTurns(rollout.limits)) return;
      const effective = info.action_is_effective ?? 0;
      const past = { before, reply: canonical, actions: actions.slice(0, executed), effective, ...outcome };
      this.#history.push({ past, sampled, bridge: bridge ?? new Int32Array(0) });
    });
  }

  #shared(): Int32Array {
    const { chat, template } = this.#context.rollout;
    const { system } = this.#opening;
    this.#systemIds ??= system === "" ? new Int32Array(0) : chat.opening(system, "", template.prefix);
    return this.#systemIds;
  }

  #note(ids: Int32Array): void {
    this.#length += ids.length;
    if (isTurnLevel(this.#context.rollout.limits)) this.#pieces.push(ids);
  }

  /** The chat goes on with `append`. */
  #continue(append: Int32Array, { turn }: TurnState): PromptUpdate | null {
    const { limits } = this.#context.rollout;
    if (!fitsContext(limits, this.#length + append.length)) return null;
    const recordedPrompt = isTurnLevel(limits) ? concatIds([...this.#pieces, append]) : append;
    this.#note(append);
    return { append, sharedPrefix: 0, recordedPrompt, canContinue: continuesChat(limits, turn, this.#from) };
  }

  /** A new chat shows the turns from `first` on, or from a later one where they do not fit. */
  #open(first: number, now: TurnState): Effect.Effect<PromptUpdate | null, PolicyError> {
    const { policy, rollout, sequence, task } = this.#context;
    const { limits } = rollout;
    return Effect.gen({ self: this }, function* () {
      if (now.turn > 1) yield* policy.release(sequence);
      const { opening, system } = this.#opening;
      const prompt: PromptHistory = { rollout, task, system, opening, history: this.#history, now };
      for (let from = first; from <= now.turn; from++) {
        const before = this.#history.slice(0, from - 1).map(({ past }) => past);
        const { records, text } = yield* this.#summaries.summarise(before);
        this.#sequences.push(...records);
        const ids = newChatIds(prompt, from, text);
        if (fitsContext(limits, ids.length)) return this.#begin(from, ids, now);
        if (limits.overflow === "end") return null;
      }
      return null;
    });
  }

  #begin(from: number, append: Int32Array, { turn }: TurnState): PromptUpdate {
    const { limits } = this.#context.rollout;
    this.#from = from;
    this.#pieces = [];
    this.#length = 0;
    this.#turns = undefined;
    this.#note(append);
    const sharedPrefix = turn === 1 ? this.#opening.sharedPrefix : commonPrefix(append, this.#shared());
    return { append, sharedPrefix, recordedPrompt: append, canContinue: continuesChat(limits, turn, from) };
  }
}
