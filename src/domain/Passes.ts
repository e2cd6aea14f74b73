/** Cuts sequences into passes by their lengths alone: each pass has rows of similar length, padded to the same one. */
import { maximum } from "./Statistics.ts";

/**
 * The padded length of a sequence: at most a sixteenth longer from 256 on. There are few of them, because the runtime's arena grows with each
 * new shape.
 */
export const bucket = (length: number): number => {
  const step = Math.max(16, 2 ** Math.floor(Math.log2(Math.max(1, length) / 16)));
  return Math.max(2, Math.ceil(length / step) * step);
};

/** Rows of one pass, as indices of the lengths, and the positions that each is padded to. */
export interface Pass {
  readonly rows: readonly number[];
  readonly time: number;
}

/** The longest first; rows x padded length stays within `tokens` unless one row is longer. */
export const passesOf = (lengths: readonly number[], tokens: number): readonly Pass[] => {
  const order = lengths.map((_, i) => i).sort((a, b) => lengths[b]! - lengths[a]! || a - b);
  const passes: Pass[] = [];
  for (let from = 0; from < order.length; ) {
    const time = bucket(lengths[order[from]!]!);
    const to = from + Math.max(1, Math.floor(tokens / time));
    passes.push({ rows: order.slice(from, to), time });
    from = to;
  }
  return passes;
};

/** Sequences that begin with the same text: how long that is, and what each of them has behind it. */
export interface SequenceFamily {
  readonly prompt: number;
  readonly continuations: readonly number[];
}

/** Some of a family's sequences, as indices of the family and of its continuations. */
export interface FamilyPart {
  readonly family: number;
  readonly members: readonly number[];
}

/** One pass over prompts and their continuations; all are padded to the same sizes. */
export interface SharedPass {
  readonly groups: readonly FamilyPart[];
  readonly prompt: number;
  readonly members: number;
  readonly time: number;
}

/** Positions of a pass, padding among them. */
export const positionsOf = ({ groups, members, prompt, time }: SharedPass): number =>
  groups.length * (prompt + members * time);

/** A family's sequences, the longest first, in as few parts as stay within `tokens`, as equal as they can be. */
const partsOf = ({ continuations, prompt }: SequenceFamily, family: number, tokens: number): readonly SharedPass[] => {
  const order = continuations.map((_, i) => i).sort((a, b) => continuations[b]! - continuations[a]! || a - b);
  const [shown, longest] = [bucket(prompt), bucket(maximum(continuations))];
  const most = Math.max(1, Math.floor((tokens - shown) / longest));
  const parts = Math.ceil(order.length / most);
  return Array.from({ length: parts }, (_, part) => {
    const end = (k: number): number => Math.floor((k * order.length) / parts);
    const members = order.slice(end(part), end(part + 1));
    return {
      groups: [{ family, members }],
      prompt: shown,
      members: members.length,
      time: bucket(continuations[members[0]!]!),
    };
  });
};

/** Families with the longest continuations first; `positionsOf` a pass stays within `tokens` unless a prompt with one continuation does not. */
export const sharedPassesOf = (families: readonly SequenceFamily[], tokens: number): readonly SharedPass[] => {
  const parts = families
    .flatMap((family, i) => partsOf(family, i, tokens))
    .sort((a, b) => b.time - a.time || b.members - a.members || b.prompt - a.prompt);
  const passes: SharedPass[] = [];
  for (const part of parts) {
    const last = passes.at(-1);
    const joined = last && {
      groups: [...last.groups, ...part.groups],
      prompt: Math.max(last.prompt, part.prompt),
      members: Math.max(last.members, part.members),
      time: Math.max(last.time, part.time),
    };
    if (joined !== undefined && positionsOf(joined) <= tokens) passes[passes.length - 1] = joined;
    else passes.push(part);
  }
  return passes;
};
