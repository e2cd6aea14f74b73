/** Episodes made of formulas, for the runs of mockRun: short Sokoban games with tokens, and hostile words in one of them. */
import type { EpisodeRecord, TurnRecord } from "../../../../src/domain/EpisodeRecord.ts";
import { episodeRecord, turnRecord } from "../../../build/records.ts";
import { hostile, type MockRun, noiseOf, windowOf } from "./mockRun.ts";

const state = (turn: number): string => {
  const row = ["#", "_", "_", "_", "_", "#"];
  row[1 + (turn % 4)] = "P";
  return [
    "Turn:",
    `You have ${3 - turn} turns left.`,
    "State:",
    "######",
    row.join(""),
    "#_X__#",
    "#__O_#",
    "######",
  ].join("\n");
};

const turnOf = (seed: number, words: readonly string[], kept: boolean): TurnRecord => {
  const all = <A>(f: (i: number) => A): A[] => words.map((_, i) => f(i));
  return turnRecord(words, {
    mu: all((i) => -3 * noiseOf(seed + i)),
    entropies: all((i) => 2 * noiseOf(seed * 3 + i)),
    versions: all((i) => 280 + (i > words.length / 2 ? 1 : 0)),
    ...(kept ? { advantages: all((i) => 2 * noiseOf(seed + i * 7) - 1) } : {}),
    actions: ["Right"],
    reward: -0.1,
  });
};

export const groupOf = (run: MockRun, step: number, group: number): readonly EpisodeRecord[] => {
  const judged = windowOf(run, step).groups.find((other) => other.group === group);
  if (judged === undefined) return [];
  const kept = judged.verdict === "kept";
  return [0, 1, 2, 3].map((member) => {
    const thought = member === 3 ? hostile : "the box is right of me ";
    const words = ["<think>", ...thought.split(/(?<= )/), "</think>", "<answer>", "Right", "</answer>"];
    return episodeRecord({
      step,
      group,
      member,
      seed: group,
      success: noiseOf(group + member) < 0.5,
      reward: judged.reward,
      outcome: { _tag: "Done", success: true },
      verdict: judged.verdict,
      ...(judged.score === undefined ? {} : { groupScore: judged.score, score: judged.reward }),
      messages: [0, 1].flatMap((turn) => [
        { role: "user" as const, content: state(turn) },
        { role: "assistant" as const, content: words.join("") },
      ]),
      turns: [0, 1].map((turn) => turnOf(group + member * 31 + turn * 7, words, kept)),
      final: state(2),
    });
  });
};
