/** Renders an episode for `millrace prompt`: each prompt as the model sees it, between lines that label it. Pure. */
import type { RunConfig } from "../src/config/RunConfig.ts";
import type { Outcome } from "../src/domain/Episode.ts";
import type { ShownEpisode, ShownPrompt } from "./promptEpisode.ts";

type Limits = RunConfig["rollout"];

const turnsText = (first: number, last: number): string =>
  first === last ? `turn ${first}` : `turns ${first} to ${last}`;

const tokensText = (count: number): string => `${count} ${count === 1 ? "token" : "tokens"}`;

/**
 * Names the setting that cuts the history of a chat that shows turns from the second on. A window that is no longer
 * full has dropped turns.
 */
const cutBy = ({ context, max_context_window: window, max_model_len }: Limits, shown: number): string =>
  context !== "full" && window !== -1 && shown === Math.max(1, window)
    ? `rollout.max_context_window=${window}`
    : `rollout.max_model_len=${max_model_len}, rollout.overflow=drop`;

/** Says at which turn the prompt begins, and how much of the history it omits. */
const historyText = ({ added, from, kind, tokens, turn }: ShownPrompt, limits: Limits): string => {
  if (kind === "summary") return "a chat of its own";
  if (from === null) return `${added} of them new, behind the ${tokens - added} of the chat so far`;
  if (turn === 1) return "a new chat";
  const shown = `a new chat of ${turnsText(from, turn)}`;
  if (from === 1) return shown;
  return `${shown}; ${turnsText(1, from - 1)} cut (${cutBy(limits, turn - from + 1)})`;
};

const replyHead = ({ kind, reply, room }: ShownPrompt): string => {
  if (reply === null) return `--- here the model replies, in at most ${tokensText(room)}`;
  const { actions, author, isCut, tokens } = reply;
  const length = isCut ? `cut after ${tokensText(tokens)}` : `${tokensText(tokens)} of at most ${room}`;
  const read = actions.length === 0 ? "no legal action" : `actions: ${actions.join(", ")}`;
  return `--- here the model replies; ${author} wrote this (${length}${kind === "turn" ? `; ${read}` : ""})`;
};

const promptLines = (prompt: ShownPrompt, limits: Limits): readonly string[] => {
  const { kind, reply, text, tokens, turn } = prompt;
  const subject = kind === "turn" ? `turn ${turn}` : `summary of ${turnsText(1, turn)}`;
  return [
    `--- ${subject}: a prompt of ${tokensText(tokens)}, ${historyText(prompt, limits)}`,
    text,
    replyHead(prompt),
    ...(reply === null ? [] : [reply.text]),
  ];
};

/** Says how an episode of `turns` turns ended. */
const endText = (outcome: Outcome | null, turns: number, limits: Limits): string => {
  if (outcome === null) return "no more --actions are given";
  if (outcome._tag === "Failed") return `the environment failed: ${outcome.message}`;
  if (outcome._tag === "Done") return outcome.success ? "success" : "the environment ended the episode";
  const won = outcome.success ? "success; " : "";
  if (outcome.reason !== "context") return `${won}truncated by ${outcome.reason}`;
  const { max_model_len, overflow, response_length } = limits;
  return `${won}truncated by context: the prompt of turn ${turns + 1} and ${tokensText(response_length)} for its reply (rollout.response_length) do not fit into rollout.max_model_len=${max_model_len} (rollout.overflow=${overflow})`;
};

/** Says at which turns the model reads the instruction of the environment, or that no prompt fits. */
const instructionText = (tag: string, instruction: string, prompts: readonly ShownPrompt[]): string => {
  const key = `custom_envs.${tag}.env_instruction`;
  if (prompts.length === 0) return "No prompt fits.";
  if (instruction.trim() === "") return `Instruction: ${key} is empty.`;
  const turns = prompts.flatMap(({ kind, text, turn }) =>
    kind === "turn" && text.includes(instruction.trim()) ? [turn] : [],
  );
  return turns.length === 0
    ? `Instruction: ${key} is not shown.`
    : `Instruction: ${key} is shown at ${turns.length === 1 ? "turn" : "turns"} ${turns.join(", ")}.`;
};

export interface PromptSubject {
  readonly config: Pick<RunConfig, "rollout">;
  readonly tag: string;
  readonly seed: number;
  readonly instruction: string;
  /** Folder of the model. */
  readonly model: string;
}

export const promptText = (
  { config: { rollout }, instruction, model, seed, tag }: PromptSubject,
  { outcome, prompts }: ShownEpisode,
): readonly string[] => {
  const turns = prompts.filter(({ kind }) => kind === "turn").length;
  return [
    `${tag}, instance ${seed} of training, as ${model} is shown it (template ${rollout.template}, context ${rollout.context})`,
    instructionText(tag, instruction, prompts),
    "",
    ...prompts.flatMap((prompt) => promptLines(prompt, rollout)),
    `--- end: ${endText(outcome, turns, rollout)}`,
  ];
};

/** One object a prompt, and one of how it ended. */
export const promptJson = (
  { config: { rollout }, seed, tag }: PromptSubject,
  { outcome, prompts }: ShownEpisode,
): readonly string[] => {
  const turns = prompts.filter(({ kind }) => kind === "turn").length;
  const end = { kind: "end", tag, seed, why: endText(outcome, turns, rollout), outcome };
  return [...prompts, end].map((line) => JSON.stringify(line));
};
