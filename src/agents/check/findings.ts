/** Finds in the calls of a few episodes whether their agent can be trained. Pure. */

import type { ToolCall } from "../../domain/Conversation.ts";
import { type Episode, failed, rewardOf } from "../../domain/Episode.ts";
import { type ForkReason, forkTexts } from "../../domain/forks.ts";
import { type CallNode, callsOf, trainedCalls } from "../tree/CallTree.ts";

/** A fatal finding means that training would learn nothing, or something wrong. */
export interface AgentFinding {
  readonly grade: "fatal" | "warning" | "note";
  readonly sentence: string;
}

export interface CheckedEpisode {
  readonly episode: Episode;
  /** The limit that cut it; null where none did. */
  readonly limit: string | null;
  readonly roots: readonly CallNode[];
  /** Wishes of its calls that training does not grant. */
  readonly ignoredWishes: readonly string[];
}

export const finding = (grade: AgentFinding["grade"], sentence: string): AgentFinding => ({ grade, sentence });

/** Failures of episodes, each cause once. */
const failures = (episodes: readonly CheckedEpisode[]): readonly AgentFinding[] => {
  const failed = episodes.flatMap(({ episode: { id, outcome } }) =>
    outcome._tag === "Failed" ? [{ number: id.member + 1, message: outcome.message }] : [],
  );
  return [...Map.groupBy(failed, ({ message }) => message)].map(([message, each]) => {
    const numbers = each.map(({ number }) => number).join(" and ");
    return finding("fatal", `episode${each.length > 1 ? "s" : ""} ${numbers} failed: ${message}`);
  });
};

/**
 * Tools whose results never come back: an agent that calls once and ends has most likely lost its answer. Four known harnesses did, and passed every
 * other check. Where the model called no tool, it may be the model's part.
 */
const loneCalls = (episodes: readonly CheckedEpisode[]): readonly AgentFinding[] => {
  const calls = episodes.map(({ roots }) => callsOf(roots));
  const isLone = calls.length > 0 && calls.every((each) => each.length === 1 && (each[0]?.tools.length ?? 0) > 0);
  if (!isLone) return [];
  const hasCalled = calls.flat().some(({ reply }) => reply.calls.length > 0);
  return [
    hasCalled
      ? finding("fatal", "each episode ends with its first call of a tool: the result never came back to the model")
      : finding(
          "warning",
          "no reply called a tool that is offered: a model that does not call tools by itself is shown how first (millrace sft, sft.conversations)",
        ),
  ];
};

const sampledTokens = (calls: readonly CallNode[]): number =>
  calls.reduce((sum, { sampled: { ids } }) => sum + ids.length, 0);

/** Tokens of calls that are left out count as not trained, though they were sampled. */
const masked = (episodes: readonly CheckedEpisode[]): readonly AgentFinding[] => {
  const all = episodes.flatMap(({ roots }) => callsOf(roots));
  if (all.length === 0) return [];
  const sampled = sampledTokens(all);
  const leftOut = episodes.flatMap(({ roots }) => trainedCalls(roots).discarded);
  const trained = sampled - sampledTokens(leftOut);
  if (trained === 0) return [finding("fatal", "no token is sampled and trained, so that nothing can be learnt")];
  const shown = all.reduce((sum, { prompt }) => sum + prompt.length, 0);
  const share = Math.round((100 * trained) / (sampled + shown));
  return [
    finding("note", `${share} % of the tokens are sampled and trained`),
    ...(leftOut.length === 0
      ? []
      : [finding("note", `${leftOut.length} calls were repeated and not gone on from: they are left out`)]),
  ];
};

const forks = (episodes: readonly CheckedEpisode[]): readonly AgentFinding[] => {
  const counts = new Map<ForkReason, number>();
  for (const { fork } of episodes.flatMap(({ roots }) => roots))
    if (fork !== null) counts.set(fork, (counts.get(fork) ?? 0) + 1);
  return [...counts].map(([reason, count]) =>
    finding("warning", `${count} calls begin anew (${forkTexts[reason]}): each costs the prefill of its whole history`),
  );
};

const rewards = (episodes: readonly CheckedEpisode[]): readonly AgentFinding[] => {
  const earned = episodes.filter(({ episode }) => !failed(episode)).map(({ episode }) => rewardOf(episode));
  const isEqual = earned.length > 1 && earned.every((reward) => reward === earned[0]);
  return isEqual
    ? [finding("note", `both episodes earned ${earned[0]}: a group teaches only where rewards differ`)]
    : [];
};

const limits = (episodes: readonly CheckedEpisode[]): readonly AgentFinding[] =>
  [...new Set(episodes.flatMap(({ limit }) => (limit === null ? [] : [limit])))].map((limit) => {
    const key = limit === "context" ? "rollout.max_model_len" : "agent.max_calls";
    return finding(
      "warning",
      `an episode was cut at its limit of ${limit === "context" ? "context" : "calls"} (${key})`,
    );
  });

const wishes = (episodes: readonly CheckedEpisode[]): readonly AgentFinding[] => {
  const all = [...new Set(episodes.flatMap(({ ignoredWishes }) => ignoredWishes))];
  return all.length === 0
    ? []
    : [
        finding(
          "note",
          `calls ask for ${all.join(", ")}: training samples as the run file says (generation.temperature)`,
        ),
      ];
};

/** The findings of episodes and `others`, the worst first. */
export const findingsOf = (
  episodes: readonly CheckedEpisode[],
  others: readonly AgentFinding[] = [],
): readonly AgentFinding[] =>
  [
    ...[failures, loneCalls, forks, limits, masked, rewards, wishes].flatMap((find) => find(episodes)),
    ...others,
  ].toSorted((a, b) => gradeOrder[a.grade] - gradeOrder[b.grade]);

const gradeOrder = { fatal: 0, warning: 1, note: 2 } as const;

const short = (text: string): string => {
  const line = text.replace(/[\s\p{C}]+/gu, " ").trim();
  return line.length > 60 ? `${line.slice(0, 60)}…` : line;
};

const callText = ({ arguments: values, name }: ToolCall): string => short(`${name}(${JSON.stringify(values) ?? ""})`);

const nodeText = ({ fork, number, prompt, reply, sampled }: CallNode, isDiscarded: boolean): string => {
  const calls = reply.calls.map(callText).join(", ");
  const why = `${fork === null ? "" : `  (begins anew: ${fork})`}${isDiscarded ? "  (not trained)" : ""}`;
  return `call ${number + 1}: +${prompt.length} tokens, ${sampled.ids.length} sampled: ${calls === "" ? short(reply.text) : calls}${why}`;
};

/** The tree of an episode, a line for each call, indented by its depth. */
export const treeLines = (roots: readonly CallNode[]): readonly string[] => {
  const discarded = new Set(trainedCalls(roots).discarded);
  const lines: string[] = [];
  const waiting = roots.map((node, at) => ({ node, at, indent: "" })).toReversed();
  for (let next = waiting.pop(); next !== undefined; next = waiting.pop()) {
    const { at, indent, node } = next;
    lines.push(`${indent}${nodeText(node, discarded.has(node))}`);
    // A lone line of calls stays at one depth.
    const deeper = node.children.length > 1 || at > 0 ? `${indent}  ` : indent;
    for (const [index, child] of [...node.children.entries()].toReversed())
      waiting.push({ node: child, at: index, indent: deeper });
  }
  return lines;
};
