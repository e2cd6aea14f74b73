/** The replies of scripted episodes, and what must be trained of them. */
import { expect } from "vitest";
import type { PlayedEpisode } from "./endpoint.ts";

/** A tool call as a model in Qwen's form writes it. */
export const toolCall = (name: string, values: object): string =>
  `<tool_call>\n${JSON.stringify({ name, arguments: values })}\n</tool_call>`;

/**
 * Checks that the calls are trained once each, in this number of sequences, and that these are made of the ids that the policy was shown and
 * sampled.
 */
export const expectTrained = (
  { prompts, replies, trained }: PlayedEpisode,
  { calls, sequences = 1 }: { readonly calls: number; readonly sequences?: number },
): void => {
  const episode = trained();
  expect([episode.outcome._tag, episode.sequences.length]).toEqual(["Done", sequences]);
  const turns = episode.sequences.flatMap((sequence) => sequence.turns);
  expect(turns.length).toBe(calls);
  expect(turns.map(({ sampled }) => sampled)).toEqual(replies);
  expect(turns.map(({ prompt }) => prompt)).toEqual(prompts);
};
