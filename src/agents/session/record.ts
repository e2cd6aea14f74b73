/** The episode that a session's calls become. */
import type { Episode, EpisodeId, Outcome, Sequence, TruncationReason, Turn } from "../../domain/Episode.ts";
import type { Info } from "../../domain/Info.ts";
import type { AgentResult } from "../host/outcome.ts";
import { type CallNode, type TrainedCall, trainedCalls } from "../tree/CallTree.ts";
import type { AgentModel } from "./AgentModel.ts";
import { transcript } from "./Session.ts";

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

/**
 * A finished episode. The reward of the whole episode, and of calls that are left out of training, is the reward of the last call that is trained.
 */
export const episodeOf = (
  { id, limit, roots, seed, tag }: PlayedTree,
  model: Pick<AgentModel, "textOf">,
  { metrics, rewards, success }: AgentResult,
): Episode => {
  const { discarded, sequences } = trainedCalls(roots);
  const kept = inOrder(roots).filter((node) => !discarded.includes(node));
  const rewardOf = ({ number }: CallNode): number => rewards.calls.get(number) ?? 0;
  const others = discarded.reduce((sum, node) => sum + rewardOf(node), rewards.whole);
  const last = kept.at(-1);
  const trained = sequences.map(
    (calls): Sequence => ({
      turns: calls.map((call) => {
        const reward = rewardOf(call.node) + (call.node === last ? others : 0);
        return turnOf(call, model, reward, metrics);
      }),
    }),
  );
  const outcome: Outcome = limit === null ? { _tag: "Done", success } : { _tag: "Truncated", reason: limit, success };
  return { id, tag, seed, sequences: trained, outcome };
};
