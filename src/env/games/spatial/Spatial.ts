/**
 * A spatial room: explore a room that is seen in parts, then answer a question about it. A valid sequence costs 0.1, an invalid one 1; the
 * right answer gives 10, a wrong one takes 1. Answering terminates; one step more than the budget for exploring truncates, whatever
 * the last action was (in RAGEN an unreadable one does not).
 *
 * RAGEN's are: the size of the room, the number of objects, the budget, the actions, the rewards and the names of the ten question types.
 * Theory of Space's (Zhang et al., arXiv 2602.07055) are: what the types ask, the field of view, the bins of directions and distances,
 * the grammar of a sequence, and that a failed movement ends in an observation. Ours are: the texts, the way rooms are drawn (objects and
 * start anywhere, one room without doors), how wrong choices are found and checked, and that an answer may be written as a letter in
 * any case, in parentheses, or as the choice itself.
 */
import type { Random } from "../../../domain/Random.ts";
import type { BaseInfo, Environment, Transition } from "../../contract/Environment.ts";
import { readSequence, type Sequence, sequenceText } from "./actions.ts";
import { explore } from "./explore.ts";
import { visible } from "./observation.ts";
import { draw } from "./questions/draw.ts";
import { letterOf, type Question } from "./questions/Question.ts";
import type { Room } from "./Room.ts";
import { compactText, legendText, render } from "./render.ts";
import { SpatialConfig } from "./SpatialConfig.ts";
import type { SpatialState } from "./SpatialState.ts";

export interface SpatialInfo extends BaseInfo {
  readonly answered: boolean;
  readonly final_objects_seen: number;
}

const rewards = { unreadable: -1, step: -0.1, right: 10, wrong: -1 } as const;

/** Characters of an answer that are kept and quoted. */
const quoted = 80;

const reset = (config: SpatialConfig, instance: Random): SpatialState => {
  const { question, room } = draw(config, instance);
  const { start, things } = room;
  return { things, start, question, pose: start, seen: [], steps: 0, last: null };
};

const roomOf = (
  { field_of_view, room_size: [width, height] }: SpatialConfig,
  { start, things }: SpatialState,
): Room => ({
  width,
  height,
  start,
  things,
  view: field_of_view,
});

const isRight = ({ answer, choices }: Question, given: string): boolean => {
  const plain = given.trim().toLowerCase();
  const letter = plain.replace(/^\(([a-z])\)$/, "$1").replace(/^([a-z])[.)].*$/s, "$1");
  return letter === letterOf(answer).toLowerCase() || plain === choices[answer]!.toLowerCase();
};

const outOfSteps = (config: SpatialConfig, { steps }: SpatialState): boolean => steps > config.max_exp_steps;

const transition = (
  config: SpatialConfig,
  state: SpatialState,
  reward: number,
  valid: boolean,
  effective: boolean,
): Transition<SpatialState, SpatialInfo> => {
  const answered = state.last?._tag === "Answered";
  const success = state.last?._tag === "Answered" && state.last.right;
  return {
    state,
    reward,
    terminated: answered,
    truncated: !answered && outOfSteps(config, state),
    info: {
      success,
      action_is_effective: effective,
      action_is_valid: valid,
      answered,
      final_objects_seen: state.seen.length,
    },
  };
};

/** Moves, then looks; an object newly seen or another pose is an effect. */
const exploring = (config: SpatialConfig, state: SpatialState, { movements }: Sequence) => {
  const room = roomOf(config, state);
  const { done, failed, pose } = explore(room, state.seen, state.pose, movements);
  const inView = visible(room, pose);
  const seen = state.things
    .filter((thing) => inView.includes(thing) || state.seen.includes(thing.name))
    .map(({ name }) => name);
  const { x, y, facing } = state.pose;
  const effective = seen.length > state.seen.length || pose.x !== x || pose.y !== y || pose.facing !== facing;
  const next: SpatialState = { ...state, pose, seen, steps: state.steps + 1, last: { _tag: "Explored", done } };
  return transition(config, next, rewards.step, !failed, effective);
};

const step = (config: SpatialConfig, state: SpatialState, action: string): Transition<SpatialState, SpatialInfo> => {
  if (state.last?._tag === "Answered" || outOfSteps(config, state)) return transition(config, state, 0, false, false);
  const sequence = readSequence(action);
  if (sequence === null) {
    const unreadable: SpatialState = { ...state, steps: state.steps + 1, last: { _tag: "Unreadable" } };
    return transition(config, unreadable, rewards.unreadable, false, false);
  }
  if (sequence.end._tag === "Observe") return exploring(config, state, sequence);
  const answer = sequence.end.answer.slice(0, quoted);
  const right = isRight(state.question, sequence.end.answer);
  const next: SpatialState = { ...state, steps: state.steps + 1, last: { _tag: "Answered", answer, right } };
  return transition(config, next, right ? rewards.right : rewards.wrong, true, true);
};

const looking = (first: boolean): string =>
  sequenceText({ movements: first ? [] : [{ _tag: "Rotate", degrees: 90 }], end: { _tag: "Observe" } });

/**
 * Looks around on the spot until every object was seen, as far as the budget allows, and answers. Answering at once would be shorter,
 * but a model that is cloned from it would learn to guess.
 */
const solve = (config: SpatialConfig, state: SpatialState): readonly string[] | null => {
  if (state.last?._tag === "Answered") return state.last.right ? [] : null;
  if (outOfSteps(config, state)) return null;
  const plan: string[] = [];
  for (let at = state; at.seen.length < at.things.length && at.steps < config.max_exp_steps; ) {
    const action = looking(at.steps === 0);
    plan.push(action);
    at = step(config, at, action).state;
  }
  const answer: Sequence = { movements: [], end: { _tag: "Term", answer: letterOf(state.question.answer) } };
  return [...plan, sequenceText(answer)];
};

/** Which objects are not seen yet, or that all are. */
const thought = (_config: SpatialConfig, { question, seen, things }: SpatialState, plan: readonly string[]): string => {
  const unseen = things.filter(({ name }) => !seen.includes(name)).map(({ name }) => name);
  const next = plan[0] ?? "";
  if (unseen.length > 0 && plan.length > 1) return `not seen yet ${unseen.join(" ")} so ${next}`;
  return `the answer is ${letterOf(question.answer)} so ${next}`;
};

export const Spatial: Environment<SpatialConfig, SpatialState, SpatialInfo> = {
  type: "spatial",
  config: SpatialConfig,
  reset,
  step,
  render,
  compact: compactText,
  actions: () => null,
  legend: legendText,
  solve,
  thought,
  contentKey: (_config, { question, start, things }) =>
    [
      "spatial",
      question.type,
      `${start.x},${start.y}`,
      ...things.map(({ facing, name, x, y }) => `${name}@${x},${y},${facing}`),
      question.text,
      ...question.choices,
    ].join(":"),
};
