/**
 * The calls of an agent's episode as rows of a tree, each behind the call that it goes on from. Pure. Invariant: every call is in one row,
 * also where a damaged record names a parent that is not there; such a call stands as a root.
 */
import type { AgentCall } from "../../../../domain/AgentCall.ts";
import type { EpisodeRecord, TurnRecord } from "../../../../domain/EpisodeRecord.ts";
import type { ForkReason } from "../../../../domain/forks.ts";

export interface CallRow {
  readonly call: AgentCall;
  readonly turn: TurnRecord;
  /** The whole reply as text. */
  readonly reply: string;
  /** True of a call that was repeated and not gone on from. */
  readonly isDiscarded: boolean;
  /** Number of branches that it lies in: a lone line of calls stays at 0. */
  readonly depth: number;
  /** Words above the row, where a root or a branch begins; null where a line of calls goes on. */
  readonly heading: string | null;
  /** The call that it goes on from, with its tool calls; null for a root. */
  readonly parent: AgentCall | null;
}

/** Reasons of forks, in words that follow "begins anew". */
export const forkTexts: Readonly<Record<ForkReason, string>> = {
  thoughts_stripped: "the client left thoughts out of the history that it sent back",
  compaction: "the agent shortened its history",
  edited: "the agent changed earlier messages",
  tools_changed: "the agent offered other tools",
  other_agent: "another agent, with a system message or tools of its own",
  parallel: "the agent began several conversations at once",
  template: "the model's chat template changes earlier messages once others follow",
};

type Call = Pick<CallRow, "call" | "turn" | "reply" | "isDiscarded">;
type PlacedCall = Call & Pick<CallRow, "parent">;

const callsIn = ({ discarded, messages, turns }: EpisodeRecord): readonly Call[] => {
  const replies = messages.filter(({ role }) => role === "assistant");
  return turns.flatMap((turn, at) =>
    turn.call === undefined
      ? []
      : [{ call: turn.call, turn, reply: replies[at]?.content ?? "", isDiscarded: discarded === true }],
  );
};

/** True of an episode whose turns are an agent's calls. Records of older runs have none. */
export const hasCalls = (sequences: readonly EpisodeRecord[]): boolean =>
  sequences.some(({ turns }) => turns.some(({ call }) => call !== undefined));

/** A call that waits for its row. */
interface Waiting {
  readonly row: PlacedCall;
  readonly depth: number;
  readonly heading: string | null;
}

/** Roots with the same messages are samples of one root. The first of them says why it begins anew. */
const rootHeading = (samples: readonly Call[], position: number, roots: number): string => {
  const fork = samples[0]?.call.fork ?? null;
  return [
    roots === 1 ? "Root" : `Root ${position + 1} of ${roots}`,
    ...(fork === null ? [] : [`begins anew, ${forkTexts[fork] ?? fork}`]),
    ...(samples.length === 1 ? [] : [`${samples.length} samples of the same messages`]),
  ].join(": ");
};

/** Discarded samples stand aside, above the one that goes on. */
const rootRows = (roots: readonly PlacedCall[]): readonly Waiting[] => {
  const bySample = Map.groupBy(roots, ({ call: { added, tools } }) => JSON.stringify([tools, added]));
  return [...bySample.values()].flatMap((samples, position) => {
    const heading = rootHeading(samples, position, bySample.size);
    return samples
      .map((row) => ({ row, depth: row.isDiscarded ? 1 : 0 }))
      .toSorted((a, b) => b.depth - a.depth)
      .map((each, at): Waiting => ({ ...each, heading: at === 0 ? heading : null }));
  });
};

/** The children of a call. One that goes on alone stays on its line; several are branches, and discarded ones stand aside. */
const behind = ({ depth, row: { call: parent } }: Waiting, children: readonly PlacedCall[]): readonly Waiting[] => {
  const kept = children.filter(({ isDiscarded }) => !isDiscarded);
  const placed = children.map((row): Waiting => {
    if (row.isDiscarded) return { row, depth: depth + 1, heading: null };
    if (kept.length === 1) return { row, depth, heading: null };
    const heading = `Branch ${kept.indexOf(row) + 1} of ${kept.length} from call ${parent.number + 1}`;
    return { row, depth: depth + 1, heading };
  });
  // The line goes on below what stands aside of it.
  return placed.toSorted((a, b) => b.depth - a.depth);
};

/** The rows of an episode from top to bottom. */
export const callRows = (sequences: readonly EpisodeRecord[]): readonly CallRow[] => {
  const calls = sequences.flatMap(callsIn).toSorted((a, b) => a.call.number - b.call.number);
  const byNumber = new Map<number, AgentCall>();
  const children = new Map<AgentCall | null, PlacedCall[]>();
  for (const each of calls) {
    const { number, parent: parentNumber } = each.call;
    const parent = parentNumber === null ? null : (byNumber.get(parentNumber) ?? null);
    if (!byNumber.has(number)) byNumber.set(number, each.call);
    const siblings = children.get(parent) ?? [];
    siblings.push({ ...each, parent });
    children.set(parent, siblings);
  }
  const rows: CallRow[] = [];
  const waiting = rootRows(children.get(null) ?? []).toReversed();
  for (let next = waiting.pop(); next !== undefined; next = waiting.pop()) {
    const { depth, heading, row } = next;
    rows.push({ ...row, depth, heading });
    for (const each of behind(next, children.get(row.call) ?? []).toReversed()) waiting.push(each);
  }
  return rows;
};
