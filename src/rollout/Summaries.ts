/**
 * What stands in an episode's prompts for the turns that are out of sight: nothing, facts, or a summary that the policy writes of them and of
 * its summary before. Invariants: a number of turns is summed up once an episode; what the policy writes is a token sequence of its own,
 * drawn from a stream of its own.
 */
import { Effect } from "effect";
import type { Sequence } from "../domain/Episode.ts";
import type { PolicyError } from "../domain/Errors.ts";
import { commonPrefix } from "./context.ts";
import { summaryKey } from "./keys.ts";
import type { PastTurn } from "./Template.ts";
import type { Game } from "./turn.ts";

/** A summary, and the sequences that it took to write it. */
export interface Summary {
  /** Empty for nothing. */
  readonly text: string;
  readonly sequences: readonly Sequence[];
}

const nothing: Summary = { text: "", sequences: [] };

export class Summaries {
  readonly #game: Game;
  readonly #system: string;
  /** The policy's last one, of so many turns. */
  #last = { text: "", turns: 0 };
  #systemIds: Int32Array | undefined;

  /** `system` is the system message of the episode's chats. */
  constructor(game: Game, system: string) {
    this.#game = game;
    this.#system = system;
  }

  /** Ids that every chat of the episode may begin with; how many of them do depends on what follows. */
  get systemIds(): Int32Array {
    const { chat, template } = this.#game.rollout;
    this.#systemIds ??= this.#system === "" ? new Int32Array(0) : chat.opening(this.#system, "", template.prefix);
    return this.#systemIds;
  }

  /** The summary of an episode's first turns, all of those given. */
  of(turns: readonly PastTurn[]): Effect.Effect<Summary, PolicyError> {
    const { limits, template } = this.#game.rollout;
    if (turns.length === 0 || limits.summary === "none") return Effect.succeed(nothing);
    if (limits.summary === "facts") return Effect.succeed({ text: template.facts(turns), sequences: [] });
    const { text, turns: known } = this.#last;
    return turns.length === known ? Effect.succeed({ text, sequences: [] }) : this.#written(turns);
  }

  /** The policy goes on from its last summary. Where the turns since do not fit its context, that one stays. */
  #written(turns: readonly PastTurn[]): Effect.Effect<Summary, PolicyError> {
    const { member, mode, policy, prompt, rollout, sequence, task } = this.#game;
    const { chat, decode, limits, seed, template } = rollout;
    return Effect.gen({ self: this }, function* () {
      const { text: before, turns: known } = this.#last;
      const state = template.summarising(task, turns.slice(known), before, limits.summary_length);
      const append = chat.opening(this.#system, state);
      if (append.length + limits.summary_length > limits.max_model_len) return { text: before, sequences: [] };
      const sampled = yield* policy.generate({
        sequence,
        append,
        sharedPrefix: commonPrefix(append, this.systemIds),
        maxTokens: limits.summary_length,
        sampling: mode.sampling,
        key: summaryKey(seed, mode.split, prompt, member, turns.length),
        pin: mode.pin,
      });
      yield* policy.release(sequence);
      const { ids } = sampled;
      const text = decode(ids.at(-1) === chat.endId ? ids.subarray(0, -1) : ids).trim();
      this.#last = { text, turns: turns.length };
      const played = { actions: [], executed: 0, reward: 0, penalty: 0, info: {} };
      const turn = { prompt: append, sampled, state, reply: text, parsed: true, ...played };
      return { text, sequences: [{ turns: [turn], summary: { trained: limits.train_summary } }] };
    });
  }
}
