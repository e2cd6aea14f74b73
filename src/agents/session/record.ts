/** The episode that a session's calls become: token sequences to train on, and in each turn the call's place in the tree. */
import type { AgentCall } from "../../domain/AgentCall.ts";
import { transcript } from "../../domain/Conversation.ts";
import type { Episode, EpisodeId, Outcome, Sequence, TruncationReason, Turn } from "../../domain/Episode.ts";
import type { Info } from "../../domain/Info.ts";
import type { AgentResult } from "../host/outcome.ts";
import { type CallNode, callsOf, type TrainedCall, trainedCalls } from "../tree/CallTree.ts";
import type { AgentModel } from "./AgentModel.ts";

export interface PlayedTree {
  readonly id: EpisodeId;
  readonly tag: string;
  readonly seed: number;
  readonly roots: readonly CallNode[];
  /** The limit that cut it; null where the agent ended it. */
  readonly limit: TruncationReason | null;
}

/** Calls of a tree in the order of their answers. */
const inOrder = (roots: readonly CallNode[]): readonly CallNode[] =>
  callsOf(roots).toSorted((a, b) => a.number - b.number);

const callOf = ({ added, fork, number, parent, problems, reply, tools }: CallNode): AgentCall => ({
  number,
  parent: parent?.number ?? null,
  fork,
  ...(parent === null && tools.length > 0 ? { tools: tools.map(({ name }) => name) } : {}),
  added,
  calls: reply.calls,
  problems,
});

const turnOf = (
  { node, prompt }: TrainedCall,
  { textOf }: Pick<AgentModel, "textOf">,
  reward: number,
  info: Info,
): Turn => {
  const { added, problems, reply, sampled } = node;
  // A call without tool calls is what it answers.
  const names = reply.calls.length === 0 ? ["reply"] : reply.calls.map(({ name }) => name);
  return {
    prompt,
    sampled,
    state: transcript(added),
    reply: textOf(sampled),
    parsed: problems.length === 0,
    actions: names,
    executed: names.length,
    reward,
    penalty: 0,
    info,
    call: callOf(node),
  };
};

/**
 * A finished episode. The last call that is trained has the reward of the whole episode beside its own, and those of calls that are not trained:
 * calls that are left out, and calls beyond the budget, which are not in the tree.
 */
export const episodeOf = (
  { id, limit, roots, seed, tag }: PlayedTree,
  model: Pick<AgentModel, "textOf">,
  { metrics, rewards, success }: AgentResult,
): Episode => {
  const { discarded, sequences } = trainedCalls(roots);
  const leftOut = new Set(discarded);
  const calls = inOrder(roots);
  const kept = calls.filter((node) => !leftOut.has(node));
  const rewardOf = ({ number }: CallNode): number => rewards.calls.get(number) ?? 0;
  const info: Info = {
    ...metrics,
    final_calls: calls.length,
    final_forks: roots.filter(({ fork }) => fork !== null).length,
    final_discarded_calls: discarded.length,
  };
  const keptNumbers = new Set(kept.map(({ number }) => number));
  // Numbers that begin with `total_` are summed over an episode's turns, so that one turn has them.
  const repeatedInfo: Info = Object.fromEntries(Object.entries(info).filter(([name]) => !name.startsWith("total_")));
  const others = [...rewards.calls].reduce(
    (sum, [number, reward]) => (keptNumbers.has(number) ? sum : sum + reward),
    rewards.whole,
  );
  const last = kept.at(-1);
  const trained = sequences.map(
    (calls): Sequence => ({
      turns: calls.map((call) => {
        const isLast = call.node === last;
        const reward = rewardOf(call.node) + (isLast ? others : 0);
        return turnOf(call, model, reward, isLast ? info : repeatedInfo);
      }),
    }),
  );
  const outcome: Outcome = limit === null ? { _tag: "Done", success } : { _tag: "Truncated", reason: limit, success };
  const repeated = calls
    .filter((node) => leftOut.has(node))
    .map((node) => turnOf({ node, prompt: node.prompt }, model, 0, {}));
  return { id, tag, seed, sequences: trained, ...(repeated.length === 0 ? {} : { discarded: repeated }), outcome };
};
