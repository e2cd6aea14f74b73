/**
 * Demonstrations: episodes played by a solver (or at random) in the policy's own prompt template. They are recorded as a rollout records
 * them, so that cloning trains on exactly the ids the policy will be shown. A demonstration is a pure function of (run seed, source,
 * number): an episode, null where the source cannot play that instance, the failure of its environment, or a refusal.
 * Invariant: the environment gets the actions that the reply reads as; a reply that does not read as the plan is refused.
 */
import { concatIds } from "../../domain/Batch.ts";
import type { Episode, Outcome, Turn } from "../../domain/Episode.ts";
import { type Random, type StreamKey, stream } from "../../domain/Random.ts";
import type { BoundEnvironment } from "../../env/contract/BoundEnvironment.ts";
import type { StepFailure, StepResult, View } from "../../env/contract/Environments.ts";
import { answer } from "../../env/pool/answer.ts";
import type { Tokenizer } from "../../model/tokenizer/Tokenizer.ts";
import { outcomeOf, truncatedOutcome } from "../../rollout/applyReply.ts";
import {
  bridge,
  firstTurnShown,
  fitsContext,
  isTurnLevel,
  newChatIds,
  type PlayedTurn as Past,
} from "../../rollout/context.ts";
import type { ChatOpening } from "../../rollout/Dialogue.ts";
import { start } from "../../rollout/episode.ts";
import type { ParsedReply } from "../../rollout/parse.ts";
import type { Rollout } from "../../rollout/Rollout.ts";
import { readReply } from "../../rollout/readReply.ts";
import type { Task } from "../../rollout/Task.ts";
import type { PastTurn } from "../../rollout/Template.ts";
import { searchPlan } from "./searchPlan.ts";

export interface Source {
  readonly task: Task;
  readonly environment: BoundEnvironment;
  readonly player: "solver" | "random";
  /**
   * Share of the solver's turns that are played at random and are targets all the same: a demonstrator that errs. It cannot err in free
   * text, where there is nothing to draw from.
   */
  readonly mistakes: number;
}

export interface Demonstrator {
  readonly rollout: Rollout;
  readonly tokenizer: Pick<Tokenizer, "encode">;
  /** Share of turns played at random and left out of the targets. */
  readonly noise: number;
  readonly seed: number;
  /** True of an instance that must not be shown, since the validation plays it. */
  readonly excluded: (contentKey: string) => boolean;
}

/** A demonstration that a policy could not play: its reply does not read as what the source meant. */
export interface Refusal {
  readonly _tag: "Refusal";
  readonly message: string;
}

const randomPlan = (legal: readonly string[], length: number, random: Random): readonly string[] =>
  legal.length === 0 ? [] : Array.from({ length }, () => random.pick(legal));

/** The solver's plan; without a solver one action of the adviser's; without either the plan of a search. Null where there is none. */
export const planOf = (
  environment: Pick<BoundEnvironment, "actions" | "advise" | "solve" | "step">,
  state: unknown,
): readonly string[] | null => {
  const { advise, solve } = environment;
  if (solve !== null) return solve(state);
  if (advise === null) return searchPlan(environment, state);
  const action = advise(state);
  return action === null ? null : [action];
};

/** The whole reply a plan becomes: thought and answer. */
export const replyText = (rollout: Rollout, thought: string, actions: readonly string[]): string => {
  const answer = `<answer>${actions.join(` ${rollout.limits.action_sep} `)}</answer>`;
  return rollout.limits.enable_think ? `<think>${thought}</think>${answer}` : answer;
};

/** A reply that nobody sampled. */
export const unsampledReply = (ids: Int32Array): Turn["sampled"] => ({
  ids,
  mu: new Float32Array(ids.length),
  versions: new Int32Array(ids.length),
  entropies: new Float32Array(ids.length),
  finish: "stop",
});

/** An episode of a source as it is being played. */
interface DemonstrationContext {
  readonly demonstrator: Demonstrator;
  readonly source: Source;
  readonly environments: ReadonlyMap<string, BoundEnvironment>;
  /** Key of a stream of this episode. */
  readonly key: (purpose: StreamKey["purpose"], ...counters: number[]) => StreamKey;
  /** Draws which turns are played at random, and their actions. */
  readonly choices: Random;
  readonly head: ChatOpening;
}

/** The state of an episode before a turn. */
interface EpisodeState {
  /** 1-based. */
  readonly turn: number;
  readonly view: View;
  /** Ids to append to the history before the reply. */
  readonly append: Int32Array;
  /** Ids of the history before `append`. */
  readonly length: number;
  readonly actionsLeft: number;
  readonly success: boolean;
  /** The turns so far, if each turn is a token sequence of its own; `from` is the first that the last prompt showed. */
  readonly history: readonly Past[];
  readonly from: number;
}

interface DemonstratedTurn {
  readonly record: Turn;
  readonly reading: ParsedReply;
  /** Played at random and no target. */
  readonly noisy: boolean;
  readonly result: StepResult;
  /** Null while the episode goes on. */
  readonly outcome: Outcome | null;
  /** The first turn that its prompt showed. */
  readonly from: number;
}

/** The plan of a turn, and whether it is noise; null where there is nothing to play. */
const choose = (
  { choices, demonstrator, source }: DemonstrationContext,
  { turn, view }: EpisodeState,
  room: number,
) => {
  const listed = view.actions !== null;
  const { limits } = demonstrator.rollout;
  const noisy = listed && turn < limits.max_turn && choices.uniform() < demonstrator.noise;
  const random = noisy || source.player === "random" || (listed && choices.uniform() < source.mistakes);
  const plan = random ? randomPlan(view.actions ?? [], room, choices) : planOf(source.environment, view.state);
  return plan === null || plan.length === 0 ? null : { plan, noisy };
};

/**
 * The ids before the reply, and the first turn that they show; null where there is no room for the reply. Only summaries of facts can be
 * shown, since the policy writes the others itself.
 */
const shownIn = (
  { demonstrator: { rollout }, head, source: { task } }: DemonstrationContext,
  position: EpisodeState,
) => {
  const { limits, template } = rollout;
  const { append, from: before, history, length, turn } = position;
  if (!isTurnLevel(limits)) return fitsContext(limits, length + append.length) ? { prompt: append, from: 1 } : null;
  const scene = { rollout, task, system: head.system, opening: head.opening, history, now: position };
  const last = limits.overflow === "end" ? firstTurnShown(limits, turn, before) : turn;
  for (let from = firstTurnShown(limits, turn, before); from <= last; from++) {
    const outOfSight = limits.summary === "facts" ? history.slice(0, from - 1) : [];
    const summary = outOfSight.length === 0 ? "" : template.facts(outOfSight.map(({ past }) => past));
    const prompt = newChatIds(scene, from, summary);
    if (fitsContext(limits, prompt.length)) return { prompt, from };
  }
  return null;
};

const quoted = (texts: readonly string[]): string => texts.map((text) => JSON.stringify(text.slice(0, 80))).join(", ");

/** Parses a reply as a rollout does, and refuses one that does not read as the plan's `actions`. */
const readBack = (
  { demonstrator, source: { task } }: DemonstrationContext,
  position: EpisodeState,
  reply: string,
  actions: readonly string[],
) => {
  const read = readReply({ limits: demonstrator.rollout.limits, task, ...position }, reply);
  const meant = actions.map((action) => action.trim());
  if (
    read.reading.parsed &&
    read.executable.length === meant.length &&
    meant.every((action, at) => action === read.executable[at])
  ) {
    return read;
  }
  const found = read.executable.length === 0 ? "no action" : quoted(read.executable);
  const message = `a reply with the actions ${quoted(actions)} reads as ${found}`;
  const refusal: Refusal = { _tag: "Refusal", message };
  return refusal;
};

/** The most actions that a reply of the next turn may name. */
const mostActions = (
  { demonstrator: { rollout }, source: { task } }: DemonstrationContext,
  { actionsLeft }: EpisodeState,
): number => Math.min(task.wholeAnswer ? 1 : rollout.limits.max_actions_per_turn, actionsLeft);

/** Plays one turn. An episode that ends before it, without room for a reply or anything to play, gives its outcome. */
const takeTurn = (
  context: DemonstrationContext,
  position: EpisodeState,
): DemonstratedTurn | StepFailure | Refusal | Outcome => {
  const { demonstrator, environments, key, source } = context;
  const { rollout, tokenizer } = demonstrator;
  const { limits, template } = rollout;
  const { actionsLeft, success, turn, view } = position;
  const visible = shownIn(context, position);
  if (visible === null) return truncatedOutcome("context", success);
  const room = mostActions(context, position);
  const chosen = choose(context, position, room);
  if (chosen === null) return truncatedOutcome("max_turn", success);
  const { noisy, plan } = chosen;
  const planned = plan.slice(0, room);
  const reply = replyText(rollout, source.environment.thought(view.state, plan), planned);
  const ids = tokenizer.encode(reply.slice(template.prefix.length));
  if (ids.length > limits.response_length) return truncatedOutcome("context", success);
  const read = readBack(context, position, reply, planned);
  if ("_tag" in read) return read;
  const { actions, reading, executable: run } = read;
  const step = { tag: source.task.tag, state: view.state, actions: run, noise: key("noise", turn) };
  const answered = answer(environments, { _tag: "Step", step });
  if (answered._tag !== "Stepped")
    return answered._tag === "StepFailure" ? answered : truncatedOutcome("max_turn", success);
  const { result } = answered;
  const { executed, reward } = result;
  const shown = {
    prompt: visible.prompt,
    sampled: unsampledReply(ids),
    state: template.state(view),
    reply,
    parsed: reading.parsed,
  };
  const record = { ...shown, actions, executed, reward, penalty: 0, info: {} };
  const ended = outcomeOf(result, actionsLeft - executed);
  const outcome = ended ?? (turn === limits.max_turn ? truncatedOutcome("max_turn", result.success) : null);
  return { noisy, reading, result, record, outcome, from: visible.from };
};

/** The record of a turn for later prompts. */
const pastTurn = (position: EpisodeState, { reading, record, result }: DemonstratedTurn): PastTurn => {
  const { actions, executed, reward } = record;
  return {
    before: position,
    reply: reading.canonical,
    actions: actions.slice(0, executed),
    effective: result.info.action_is_effective ?? 0,
    reward,
    executed,
    invalid: false,
  };
};

/** In a chat, the ids of noise become part of the next turn's prompt. */
const nextState = (
  context: DemonstrationContext,
  position: EpisodeState,
  turnPlayed: DemonstratedTurn,
): EpisodeState => {
  const { demonstrator, source } = context;
  const { from, noisy, record, result } = turnPlayed;
  const { rollout } = demonstrator;
  const { view, executed, reward, success } = result;
  const { sampled } = record;
  const turn = position.turn + 1;
  const actionsLeft = position.actionsLeft - executed;
  const user = rollout.template.next(source.task, { view, turn, actionsLeft }, { reward, executed, invalid: false });
  const between = bridge(rollout, sampled, user);
  const append = noisy ? concatIds([position.append, sampled.ids, between]) : between;
  const length = noisy ? position.length : position.length + position.append.length + sampled.ids.length;
  const past = isTurnLevel(rollout.limits) ? [{ past: pastTurn(position, turnPlayed), sampled, bridge: between }] : [];
  return { turn, view, append, length, actionsLeft, success, from, history: [...position.history, ...past] };
};

/** An episode of a source before its first turn; null where its instance is excluded. */
const begin = (
  demonstrator: Demonstrator,
  source: Source,
  number: number,
): [DemonstrationContext, EpisodeState] | StepFailure | null => {
  const { rollout, seed } = demonstrator;
  const { environment, task } = source;
  const environments = new Map([[task.tag, environment]]);
  const key: DemonstrationContext["key"] = (purpose, ...counters) => ({
    seed,
    purpose,
    counters: [number, ...counters],
  });
  const instance = key("cloning", 0);
  const reset = answer(environments, { _tag: "Reset", reset: { tag: task.tag, instance, split: "train" } });
  if (reset._tag === "StepFailure") return reset;
  if (reset._tag !== "View" || demonstrator.excluded(reset.view.contentKey)) return null;
  const { view } = reset;
  const head = start(rollout, task, number, view);
  const begun = { turn: 1, view, append: head.opening, length: 0, actionsLeft: task.maxActions, success: false };
  const context: DemonstrationContext = {
    demonstrator,
    source,
    environments,
    key,
    choices: stream(key("cloning", 1)),
    head,
  };
  return [context, { ...begun, from: 1, history: [] }];
};

/** Episode `number` of a source; its turns are the ones to clone, turns of noise lie inside the next turn's prompt. */
export const demonstrate = (
  demonstrator: Demonstrator,
  source: Source,
  number: number,
): Episode | StepFailure | Refusal | null => {
  const begun = begin(demonstrator, source, number);
  if (begun === null || "_tag" in begun) return begun;
  const [context] = begun;
  let [, position] = begun;
  const turns: Turn[] = [];
  let outcome: Outcome | null = null;
  while (outcome === null) {
    const turn = takeTurn(context, position);
    if (!("_tag" in turn)) {
      if (!turn.noisy) turns.push(turn.record);
      ({ outcome } = turn);
      if (outcome === null) position = nextState(context, position, turn);
    } else if (turn._tag === "StepFailure" || turn._tag === "Refusal") return turn;
    else outcome = turn;
  }
  if (turns.length === 0) return null;
  const { tag } = source.task;
  const sequences = isTurnLevel(demonstrator.rollout.limits) ? turns.map((turn) => ({ turns: [turn] })) : [{ turns }];
  return { id: { group: number, member: 0 }, tag, seed: number, sequences, outcome };
};
