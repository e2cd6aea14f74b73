/**
 * A spatial room: the player explores a room that is seen in parts, then answers a question about it, which terminates. A step beyond the budget
 * truncates, even after an unreadable action (unlike in RAGEN). Sizes, budget, actions, rewards and names of question types are RAGEN's.
 * The questions, the field of view, the bins and the grammar are those of Theory of Space (Zhang et al., arXiv 2602.07055).
 */
import type { Random } from "../../../domain/Random.ts";
import type { BaseInfo, Environment, Transition } from "../../contract/Environment.ts";
import { parseSequence, type Sequence, sequenceText } from "./actions.ts";
import { explore } from "./explore.ts";
import { visibleObjects } from "./observation.ts";
import { drawRoomAndQuestion } from "./questions/draw.ts";
import { letterOf, type RoomQuestion } from "./questions/Question.ts";
import type { SpatialRoom } from "./Room.ts";
import { compactText, legendText, render } from "./render.ts";
import { SpatialConfig } from "./SpatialConfig.ts";
import type { SpatialState } from "./SpatialState.ts";

export interface SpatialInfo extends BaseInfo {
  readonly answered: boolean;
  readonly final_objects_seen: number;
}

const rewards = { unreadable: -1, step: -0.1, right: 10, wrong: -1 } as const;

/** The state keeps so many characters of an answer, to quote them. */
const quoted = 80;

const reset = (config: SpatialConfig, instance: Random): SpatialState => {
  const { question, room } = drawRoomAndQuestion(config, instance);
  const { start, things } = room;
  return { things, start, question, pose: start, seen: [], steps: 0, last: null };
};

const roomOf = (
  { field_of_view, room_size: [width, height] }: SpatialConfig,
  { start, things }: SpatialState,
): SpatialRoom => ({
  width,
  height,
  start,
  things,
  view: field_of_view,
});

const isRight = ({ answer, choices }: RoomQuestion, given: string): boolean => {
  const plain = given.trim().toLowerCase();
  const letter = plain.replace(/^\(([a-z])\)$/, "$1").replace(/^([a-z])[.)].*$/s, "$1");
  return letter === letterOf(answer).toLowerCase() || plain === choices[answer]!.toLowerCase();
};

const isOutOfSteps = (config: SpatialConfig, { steps }: SpatialState): boolean => steps > config.max_exp_steps;

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
    truncated: !answered && isOutOfSteps(config, state),
    info: {
      success,
      action_is_effective: effective,
      action_is_valid: valid,
      answered,
      final_objects_seen: state.seen.length,
    },
  };
};

/** Moves, then looks. The action is effective if an object is newly seen or the pose has changed. */
const exploreStep = (config: SpatialConfig, state: SpatialState, { movements }: Sequence) => {
  const room = roomOf(config, state);
  const { hasFailed, pose, reports } = explore(room, state.seen, state.pose, movements);
  const inView = visibleObjects(room, pose);
  const observed = state.things
    .filter((thing) => inView.includes(thing) || state.seen.includes(thing.name))
    .map(({ name }) => name);
  const { x, y, facing } = state.pose;
  const effective = observed.length > state.seen.length || pose.x !== x || pose.y !== y || pose.facing !== facing;
  const next: SpatialState = {
    ...state,
    pose,
    seen: observed,
    steps: state.steps + 1,
    last: { _tag: "Explored", done: reports },
  };
  return transition(config, next, rewards.step, !hasFailed, effective);
};

const step = (config: SpatialConfig, state: SpatialState, action: string): Transition<SpatialState, SpatialInfo> => {
  if (state.last?._tag === "Answered" || isOutOfSteps(config, state)) return transition(config, state, 0, false, false);
  const sequence = parseSequence(action);
  if (sequence === null) {
    const unreadable: SpatialState = { ...state, steps: state.steps + 1, last: { _tag: "Unreadable" } };
    return transition(config, unreadable, rewards.unreadable, false, false);
  }
  if (sequence.end._tag === "Observe") return exploreStep(config, state, sequence);
  const answer = sequence.end.answer.slice(0, quoted);
  const right = isRight(state.question, sequence.end.answer);
  const next: SpatialState = { ...state, steps: state.steps + 1, last: { _tag: "Answered", answer, right } };
  return transition(config, next, right ? rewards.right : rewards.wrong, true, true);
};

const lookAction = (first: boolean): string =>
  sequenceText({ movements: first ? [] : [{ _tag: "Rotate", degrees: 90 }], end: { _tag: "Observe" } });

/**
 * Looks around on the spot until every object was seen, as far as the budget allows, and answers. Answering at once would be shorter,
 * but a model that is cloned from it would learn to guess.
 */
const solve = (config: SpatialConfig, state: SpatialState): readonly string[] | null => {
  if (state.last?._tag === "Answered") return state.last.right ? [] : null;
  if (isOutOfSteps(config, state)) return null;
  const plan: string[] = [];
  for (let at = state; at.seen.length < at.things.length && at.steps < config.max_exp_steps; ) {
    const action = lookAction(at.steps === 0);
    plan.push(action);
    at = step(config, at, action).state;
  }
  const answer: Sequence = { movements: [], end: { _tag: "Term", answer: letterOf(state.question.answer) } };
  return [...plan, sequenceText(answer)];
};

/** The thought names the objects that are not seen yet, or the answer. */
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
