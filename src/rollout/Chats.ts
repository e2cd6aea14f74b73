/**
 * The chats of one episode with the policy: which one is open in the generator, what it shows before each turn, and the token sequences that
 * come of them. Invariants: at most one chat is open at a time, so that an episode never holds more than one slot; the ids of a sequence
 * are what was shown and sampled, end to end.
 */
import { Effect } from "effect";
import type { Sequence, Turn } from "../domain/Episode.ts";
import type { PolicyError } from "../domain/Errors.ts";
import {
  bridge,
  byTurn,
  commonPrefix,
  firstShown,
  fits,
  goesOn,
  joined,
  opened,
  type Played,
  type Scene,
  showsAgain,
} from "./context.ts";
import { Summaries } from "./Summaries.ts";
import type { Moment } from "./Template.ts";
import type { Game, Showing, Taken } from "./turn.ts";
import { writerOf } from "./writeSummary.ts";

/** What the chats of an episode begin with. */
export interface Head {
  readonly system: string;
  /** Ids of the prompt of turn 1, and how many of them other episodes show too. */
  readonly opening: Int32Array;
  readonly sharedPrefix: number;
}

export class Chats {
  readonly #game: Game;
  readonly #head: Head;
  readonly #summaries: Summaries<Sequence, PolicyError>;
  readonly #sequences: Sequence[] = [];
  /** The turns before, where they may be shown again. */
  readonly #history: Played[] = [];
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

  constructor(game: Game, head: Head) {
    this.#game = game;
    this.#head = head;
    const { rollout, task } = game;
    this.#summaries = new Summaries(
      rollout,
      task,
      writerOf(game, head.system, () => this.#shared()),
    );
  }

  /** In the order they were played; one without turns where none was. */
  get sequences(): readonly Sequence[] {
    return this.#sequences.length === 0 ? [{ turns: [] }] : this.#sequences;
  }

  /** What the model is shown before a turn; null where that would outgrow the context. */
  show(now: Moment): Effect.Effect<Showing | null, PolicyError> {
    const { limits } = this.#game.rollout;
    const from = firstShown(limits, now.turn, this.#from);
    const going = this.#bridge !== undefined && from === this.#from;
    if (!going) return this.#open(from, now);
    const showing = this.#continue(this.#bridge ?? new Int32Array(0), now);
    if (showing !== null || limits.overflow === "end") return Effect.succeed(showing);
    return this.#open(from + 1, now);
  }

  /** Notes the turn that came of what was shown. */
  add({ record }: Taken): void {
    this.#note(record.sampled.ids);
    if (this.#turns === undefined) {
      this.#turns = [];
      this.#sequences.push({ turns: this.#turns });
    }
    this.#turns.push(record);
    if (byTurn(this.#game.rollout.limits)) this.#turns = undefined;
  }

  /** Goes on from a turn to the one after it. */
  goOn(moment: Moment, { canonical, invalid, record }: Taken, next: Moment): void {
    const { rollout, task } = this.#game;
    const { actions, executed, info, reward, sampled } = record;
    const came = { reward, executed, invalid };
    if (rollout.limits.context !== "single_turn") {
      this.#bridge = bridge(rollout, sampled, rollout.template.next(task, next, came));
    }
    if (!showsAgain(rollout.limits)) return;
    const effective = info.action_is_effective ?? 0;
    const told = { moment, reply: canonical, actions: actions.slice(0, executed), effective, ...came };
    this.#history.push({ told, sampled, bridge: this.#bridge ?? new Int32Array(0) });
  }

  #shared(): Int32Array {
    const { chat, template } = this.#game.rollout;
    const { system } = this.#head;
    this.#systemIds ??= system === "" ? new Int32Array(0) : chat.opening(system, "", template.prefix);
    return this.#systemIds;
  }

  #note(ids: Int32Array): void {
    this.#length += ids.length;
    if (byTurn(this.#game.rollout.limits)) this.#pieces.push(ids);
  }

  /** The chat goes on with `append`. */
  #continue(append: Int32Array, { turn }: Moment): Showing | null {
    const { limits } = this.#game.rollout;
    if (!fits(limits, this.#length + append.length)) return null;
    const recorded = byTurn(limits) ? joined([...this.#pieces, append]) : append;
    this.#note(append);
    return { append, sharedPrefix: 0, recorded, kept: goesOn(limits, turn, this.#from) };
  }

  /** A new chat shows the turns from `first` on, or from a later one where they do not fit. */
  #open(first: number, now: Moment): Effect.Effect<Showing | null, PolicyError> {
    const { policy, rollout, sequence, task } = this.#game;
    const { limits } = rollout;
    return Effect.gen({ self: this }, function* () {
      if (now.turn > 1) yield* policy.release(sequence);
      const { opening, system } = this.#head;
      const scene: Scene = { rollout, task, system, opening, history: this.#history, now };
      for (let from = first; from <= now.turn; from++) {
        const before = this.#history.slice(0, from - 1).map(({ told }) => told);
        const { records, text } = yield* this.#summaries.of(before);
        this.#sequences.push(...records);
        const ids = opened(scene, from, text);
        if (fits(limits, ids.length)) return this.#begin(from, ids, now);
        if (limits.overflow === "end") return null;
      }
      return null;
    });
  }

  #begin(from: number, append: Int32Array, { turn }: Moment): Showing {
    const { limits } = this.#game.rollout;
    this.#from = from;
    this.#pieces = [];
    this.#length = 0;
    this.#turns = undefined;
    this.#note(append);
    const sharedPrefix = turn === 1 ? this.#head.sharedPrefix : commonPrefix(append, this.#shared());
    return { append, sharedPrefix, recorded: append, kept: goesOn(limits, turn, from) };
  }
}
