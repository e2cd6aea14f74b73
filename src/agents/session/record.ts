/** The episode that a session's calls become. */
import type { Episode, EpisodeId, Outcome, Sequence, TruncationReason, Turn } from "../../domain/Episode.ts";
import type { Info } from "../../domain/Info.ts";
import { type CallNode, type TrainedCall, trainedCalls } from "../tree/CallTree.ts";
import type { AgentModel } from "./AgentModel.ts";
import { transcript } from "./Session.ts";

/** An agent's account of an episode that it played to its end. */
export interface AgentResult {
  /** Reward of the whole episode, or of each of its calls in the order of their answers. */
  readonly reward: number | readonly number[];
  readonly success: boolean;
  /** Numbers of the whole episode that become metrics. */
  readonly metrics: Info;
}

export interface PlayedTree {
  readonly id: EpisodeId;
  readonly tag: string;
  readonly seed: number;
  readonly roots: readonly CallNode[];
  /** The limit that cut it; null where the agent ended it. */
  readonly limit: TruncationReason | null;
}

/** Calls of a tree in the order of their answers. */
const inOrder = (roots: readonly CallNode[]): readonly CallNode[] => {
  const all = [...roots];
  // The loop also visits the children that it pushes.
  for (const { children } of all) all.push(...children);
  return all.toSorted((a, b) => a.number - b.number);
};

const turnOf = ({ node, prompt }: TrainedCall, model: Pick<AgentModel, "textOf">, reward: number, info: Info): Turn => {
  const { added, isReadable, reply, sampled } = node;
  // A call without tool calls is what it answers.
  const names = reply.calls.length === 0 ? ["reply"] : reply.calls.map(({ name }) => name);
  return {
    prompt,
    sampled,
    state: transcript(added),
    reply: model.textOf(sampled),
    parsed: isReadable,
    actions: names,
    executed: names.length,
    reward,
    penalty: 0,
    info,
  };
};

/** Rewards by call; one for the whole episode is the last call's. */
const rewardsOf = (calls: readonly CallNode[], reward: AgentResult["reward"]): ReadonlyMap<CallNode, number> => {
  const list = typeof reward === "number" ? calls.map((_, at) => (at === calls.length - 1 ? reward : 0)) : reward;
  return new Map(calls.map((node, at) => [node, list[at] ?? 0]));
};

/** A finished episode. The reward of a call that is left out of training counts for the last call that is not. */
export const episodeOf = (
  { id, limit, roots, seed, tag }: PlayedTree,
  model: Pick<AgentModel, "textOf">,
  { metrics, reward, success }: AgentResult,
): Episode => {
  const { discarded, sequences } = trainedCalls(roots);
  const kept = inOrder(roots).filter((node) => !discarded.includes(node));
  const rewards = rewardsOf(typeof reward === "number" ? kept : inOrder(roots), reward);
  const lost = discarded.reduce((sum, node) => sum + (rewards.get(node) ?? 0), 0);
  const last = kept.at(-1);
  const trained = sequences.map(
    (calls): Sequence => ({
      turns: calls.map((call) => {
        const reward = rewards.get(call.node) ?? 0;
        const isLast = call.node === last;
        return turnOf(call, model, isLast ? reward + lost : reward, metrics);
      }),
    }),
  );
  const outcome: Outcome = limit === null ? { _tag: "Done", success } : { _tag: "Truncated", reason: limit, success };
  return { id, tag, seed, sequences: trained, outcome };
};
