/** The texts of a spatial state: the observation, the short one, and the rules that never change. */
import { observationText, viewLines } from "./observation.ts";
import { letterOf, type RoomQuestion } from "./questions/Question.ts";
import type { SpatialConfig } from "./SpatialConfig.ts";
import type { LastAction, SpatialState } from "./SpatialState.ts";

const questionText = ({ choices, text }: RoomQuestion): string =>
  [`Question: ${text}`, ...choices.map((choice, at) => `${letterOf(at)}. ${choice}`)].join("\n");

const outcomeText = (config: SpatialConfig, state: SpatialState, last: LastAction): string => {
  switch (last._tag) {
    case "Unreadable":
      return "That is not a valid sequence of actions. Write movements, then one Observe(), for example Actions: [Rotate(90), Observe()], or answer alone, for example Actions: [Term(A)].";
    case "Explored":
      return [...last.done, observationText({ things: state.things, view: config.field_of_view }, state.pose)].join(
        "\n",
      );
    case "Answered":
      return `You answer ${last.answer}, which is ${last.right ? "right" : "wrong"}.`;
  }
};

const remaining = (config: SpatialConfig, state: SpatialState): string => {
  const left = config.max_exp_steps + 1 - state.steps;
  if (left === 0) return "No steps are left.";
  return left === 1
    ? "One step is left: answer now with Term."
    : `Steps left: ${left}, the last of them for your answer.`;
};

export const render = (config: SpatialConfig, state: SpatialState): string => {
  const { last, question, steps, things } = state;
  const [width, height] = config.room_size;
  const lines: string[] = [];
  if (last === null) {
    lines.push(`You are in a room of ${width} x ${height} cells and face north.`);
    lines.push(`Objects: ${things.map(({ name }) => name).join(", ")}. You see nothing until you observe.`);
  } else lines.push(outcomeText(config, state, last));
  if (last?._tag === "Answered") return lines.join("\n");
  if (steps === 0 || config.repeat_question) lines.push("", questionText(question), "");
  lines.push(remaining(config, state));
  return lines.join("\n");
};

/** Short forms of the words of observations, for small models. */
const shortForms: readonly (readonly [word: RegExp, short: string])[] = [
  [/, facing forward/g, " away"],
  [/, facing backward/g, " here"],
  [/, facing (left|right)/g, " $1"],
  [/mid distance/g, "mid"],
  [/slightly far/g, "farish"],
  [/front-slight-/g, "ahead-"],
  [/[,:;]/g, ""],
];

const shortened = (text: string): string => shortForms.reduce((short, [word, form]) => short.replace(word, form), text);

export const compactText = (config: SpatialConfig, state: SpatialState): string => {
  const { last, pose, question, things } = state;
  const lines = [`${question.type} ${shortened(question.brief)}`];
  lines.push(...question.choices.map((choice, at) => `${letterOf(at)} ${shortened(choice)}`));
  if (last?._tag === "Explored") {
    const viewed = viewLines({ things, view: config.field_of_view }, pose);
    lines.push(`see ${viewed.length === 0 ? "no object" : viewed.map(shortened).join(" and ")}`);
  }
  return lines.join("\n");
};

export const legendText = ({ field_of_view }: SpatialConfig): string =>
  [
    "Cells have coordinates (x, y): x grows to the east, y to the north. You and the objects stand in cells; objects face north, east, south or west.",
    `Your field of view is ${field_of_view} degrees, half of it to either side of where you face; what stands in your own cell is not seen.`,
    "An observation names each object in view, where it is, how far away, and which way it faces as you see it: forward (as you do), backward (towards you), left or right.",
    "Directions in view: front (straight ahead), front-slight-left and front-slight-right (up to 22.5 degrees), front-left and front-right (up to 45 degrees)" +
      (field_of_view === 180 ? ", left and right (up to 90 degrees)." : "."),
    "Directions on the map: north, north-east, east, south-east, south, south-west, west, north-west, each 45 degrees wide.",
    "Distances: near (up to 2), mid distance (up to 4), slightly far (up to 8), far (up to 16), very far (up to 32), extremely far (up to 64).",
    "Movements: JumpTo(object) puts you where an object is that you have observed and have in view, without turning you; Rotate(degrees) turns you clockwise, or counterclockwise where negative, by 0, 90, 180 or 270 degrees; Return() brings you back to your start, facing north.",
    "Ends: Observe() shows what is in view; Term(letter) answers the question and ends the episode.",
    "Write any number of movements and then exactly one end, as Actions: [Rotate(90), Observe()]. Term stands alone or after Return(): Actions: [Term(A)].",
  ].join("\n");
