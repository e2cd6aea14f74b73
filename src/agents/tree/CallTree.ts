/**
 * The calls of one episode as a tree: a call whose messages extend an answered call is its child, any other call begins a root. Invariants: the
 * ids of a call are those of its ancestors, as they were shown and sampled, and then its own; nothing that was answered is rendered again.
 */
import { createHash } from "node:crypto";
import { isDeepStrictEqual } from "node:util";
import { concatIds } from "../../domain/Batch.ts";
import {
  type AssistantMessage,
  type Conversation,
  continuesWith,
  type Message,
  type Tool,
} from "../../domain/Conversation.ts";
import type { Sampled } from "../../domain/Episode.ts";
import type { ForkReason } from "../../domain/forks.ts";

/** The place of a call in the tree. */
export interface Placement {
  readonly parent: CallNode | null;
  /** Depth: 1 for a root. */
  readonly turn: number;
  /** Number of the line of calls that it is on: a first child goes on with its parent's line, any other call begins one. */
  readonly line: number;
  /** Number of equal calls beside it that came earlier: those with its parent and messages. */
  readonly repetition: number;
  /**
   * Number of the stream that its reply draws from. It is the depth on line 0, which the first of several calls goes on with. Elsewhere it is a hash
   * of the messages and the repetition, so that the order in which calls arrive does not decide it.
   */
  readonly stream: number;
  /** Number of its wave: a call that is placed while another one is open is of the same wave. */
  readonly wave: number;
  readonly tools: readonly Tool[];
  /** Messages behind the parent's reply; all of them in a root. */
  readonly added: readonly Message[];
  /** Absent unless the call begins a root beside others. */
  readonly fork: ForkReason | null;
}

/** An answered call. */
export interface CallNode extends Placement {
  /** Number of its answer in the episode, from 0. */
  readonly number: number;
  /** Number of ids of its path, its reply included. */
  readonly pathLength: number;
  /** Ids behind the parent's sampled ids; the whole prompt of a root. */
  readonly prompt: Int32Array;
  readonly sampled: Sampled;
  /** The reply as the client got it. */
  readonly reply: AssistantMessage;
  /** Sentences on tool calls of the reply that could not be read. */
  readonly problems: readonly string[];
  readonly children: readonly CallNode[];
}

interface GrowingNode extends CallNode {
  readonly children: GrowingNode[];
}

interface Match {
  readonly node: GrowingNode;
  /** Index of the first message behind the node's reply. */
  readonly end: number;
}

/** Finds the answered call whose path is the longest beginning of `messages` that leaves a message to add; null without one. */
const longestMatch = (roots: readonly GrowingNode[], messages: readonly Message[]): Match | null => {
  let longest: Match | null = null;
  const level: { readonly nodes: readonly GrowingNode[]; readonly at: number }[] = [{ nodes: roots, at: 0 }];
  // The loop also visits what it pushes.
  for (const { at, nodes } of level) {
    for (const node of nodes) {
      const end = at + node.added.length + 1;
      if (end >= messages.length || !continuesWith(messages, at, [...node.added, node.reply])) continue;
      if (longest === null || end > longest.end) longest = { node, end };
      level.push({ nodes: node.children, at: end });
    }
  }
  return longest;
};

/** True for calls with the same tools and messages, of the same parent. */
const isRepeated = (a: Pick<Placement, "added" | "tools">, b: Pick<Placement, "added" | "tools">): boolean =>
  a.added.length === b.added.length && continuesWith(a.added, 0, b.added) && isDeepStrictEqual(a.tools, b.tools);

/** The calls from a root to `node`. */
const pathTo = (node: CallNode): readonly CallNode[] => {
  const path: CallNode[] = [];
  for (let at: CallNode | null = node; at !== null; at = at.parent) path.push(at);
  return path.reverse();
};

/** All messages of a node's path, its reply last. */
export const transcriptOf = (node: CallNode): readonly Message[] =>
  pathTo(node).flatMap(({ added, reply }) => [...added, reply]);

/** All ids of a call's path: prompts as they were shown, replies as they were sampled. */
export const pathIds = (node: CallNode): Int32Array =>
  concatIds(pathTo(node).flatMap(({ prompt, sampled }) => [prompt, sampled.ids]));

/** All calls of a tree, parents before their children and siblings in their order. */
export const callsOf = (roots: readonly CallNode[]): readonly CallNode[] => {
  const calls: CallNode[] = [];
  const waiting = roots.toReversed();
  for (let node = waiting.pop(); node !== undefined; node = waiting.pop()) {
    calls.push(node);
    for (const child of node.children.toReversed()) waiting.push(child);
  }
  return calls;
};

const thought = /<think>[\s\S]*?<\/think>\s*/g;
const withoutThoughts = (message: Message): Message =>
  message.role === "assistant" ? { ...message, text: message.text.replace(thought, "").trim() } : message;

const systemOf = (messages: readonly Message[]): string =>
  messages.flatMap((message) => (message.role === "system" ? [message.text] : [])).join("\n");

/** Finds the reason why a conversation extends no call, by the newest one. */
const reasonOf = ({ messages, tools }: Conversation, newest: CallNode): ForkReason => {
  const past = transcriptOf(newest);
  if (systemOf(messages) !== systemOf(past)) return "other_agent";
  if (!isDeepStrictEqual(tools, newest.tools)) {
    return continuesWith(messages, 0, past) ? "tools_changed" : "other_agent";
  }
  if (continuesWith(messages.map(withoutThoughts), 0, past.map(withoutThoughts))) return "thoughts_stripped";
  return messages.length < past.length ? "compaction" : "edited";
};

/** True for a call that offers the tools of an open root and has its system message: both are first calls of one agent. */
const isBeside = ({ messages, tools }: Conversation, root: Placement): boolean =>
  systemOf(messages) === systemOf(root.added) && isDeepStrictEqual(tools, root.tools);

/** The streams of hashes lie above those of depths. */
const firstHashedStream = 2 ** 31;

/** Number of a stream beyond line 0. Ids of tool calls are left out, since some clients give calls ids of their own. */
const hashedStream = (parent: CallNode | null, { messages, tools }: Conversation, repetition: number): number => {
  const texts = messages.map((message) => {
    const calls = message.role === "assistant" ? message.calls.map((call) => [call.name, call.arguments]) : [];
    return [message.role, message.text, calls];
  });
  const text = JSON.stringify([parent?.stream ?? 0, parent === null ? tools : [], texts, repetition]);
  return firstHashedStream + (createHash("sha256").update(text).digest().readUInt32LE() % firstHashedStream);
};

/** The smallest number from 0 on that is not used. */
const firstFree = (used: ReadonlySet<number>): number => {
  let free = 0;
  while (used.has(free)) free++;
  return free;
};

/** The tree of one episode. A call is placed first, and then either added with its answer or withdrawn, which frees its place. */
export class CallTree {
  readonly #roots: GrowingNode[] = [];
  readonly #open = new Set<Placement>();
  #newest: GrowingNode | null = null;
  #size = 0;
  /** Lines begun so far; line 0 begins with the first root. */
  #lines = 1;
  #waves = 0;

  get roots(): readonly CallNode[] {
    return this.#roots;
  }

  /** Number of answered calls. */
  get size(): number {
    return this.#size;
  }

  /** Number of calls that are placed and not yet answered. */
  get openCalls(): number {
    return this.#open.size;
  }

  /**
   * Places a call. One with other tools than its path begins a root, since tools stand in the first message; so does one whose messages make the
   * model's template rewrite earlier ones, by `isRewriting`.
   */
  place(
    { messages, tools }: Conversation,
    isRewriting: (added: readonly Message[]) => boolean = () => false,
  ): Placement {
    const withTools = this.#roots.filter((root) => isDeepStrictEqual(root.tools, tools));
    const match = longestMatch(withTools, messages);
    const rest = messages.slice(match?.end ?? 0);
    const isRewritten = match !== null && isRewriting(rest);
    const parent = match === null || isRewritten ? null : match.node;
    const added = isRewritten ? messages : rest;
    const siblings = this.#siblings(parent);
    const equal = siblings.filter((other) => isRepeated(other, { added, tools }));
    const repetition = firstFree(new Set(equal.map((other) => other.repetition)));
    const isFork = parent === null && equal.length === 0;
    const parentLine = parent?.line ?? 0;
    const line = siblings.some((other) => other.line === parentLine) ? this.#lines++ : parentLine;
    const turn = (parent?.turn ?? 0) + 1;
    if (this.#open.size === 0) this.#waves++;
    const placement: Placement = {
      ...{ parent, turn, line, repetition, tools, added, wave: this.#waves },
      stream: line === 0 ? turn : hashedStream(parent, { messages: added, tools }, repetition),
      fork: isFork ? this.#reasonFor({ messages, tools }, isRewritten) : null,
    };
    this.#open.add(placement);
    return placement;
  }

  /** Frees the place of a call that gets no answer. */
  withdraw(placement: Placement): void {
    this.#open.delete(placement);
  }

  /** Adds the answer of a placed call. */
  add(placement: Placement, answer: Pick<CallNode, "prompt" | "sampled" | "reply" | "problems">): CallNode {
    const { prompt, sampled } = answer;
    const pathLength = (placement.parent?.pathLength ?? 0) + prompt.length + sampled.ids.length;
    const node: GrowingNode = { ...placement, ...answer, number: this.#size, pathLength, children: [] };
    this.#open.delete(placement);
    // A parent is a node of this tree: `place` found it here.
    const siblings = placement.parent === null ? this.#roots : (placement.parent as GrowingNode).children;
    siblings.push(node);
    this.#newest = node;
    this.#size++;
    return node;
  }

  /** Answered and open calls with this parent. */
  #siblings(parent: CallNode | null): readonly Placement[] {
    const answered: readonly Placement[] = parent === null ? this.#roots : parent.children;
    return [...answered, ...[...this.#open].filter((open) => open.parent === parent)];
  }

  #reasonFor(conversation: Conversation, isRewritten: boolean): ForkReason | null {
    if (isRewritten) return "template";
    const reason = this.#newest === null ? null : reasonOf(conversation, this.#newest);
    // A conversation that begins beside an open one looks like a shortened or edited history, too.
    if (reason !== null && reason !== "compaction" && reason !== "edited") return reason;
    const openRoots = [...this.#open].filter(({ parent }) => parent === null);
    if (openRoots.some((root) => isBeside(conversation, root))) return "parallel";
    return reason ?? (openRoots.length > 0 ? "other_agent" : null);
  }
}

/** A call of a trained sequence, with the ids between it and the call before it in that sequence. */
export interface TrainedCall {
  readonly node: CallNode;
  readonly prompt: Int32Array;
}

export interface TrainedCalls {
  /** Each call is in one sequence, the first of those whose path it is on. */
  readonly sequences: readonly (readonly TrainedCall[])[];
  /** Calls that were repeated and not gone on from. */
  readonly discarded: readonly CallNode[];
}

/** Keeps those calls with the same parent and messages that were gone on from, or all of them where none was. */
const kept = (siblings: readonly CallNode[]): readonly CallNode[] =>
  siblings.filter(
    (node) =>
      node.children.length > 0 || !siblings.some((other) => other.children.length > 0 && isRepeated(other, node)),
  );

/**
 * The sequences to train on: one for each path from a root to a leaf. A call that several paths share is trained once, in the first; later
 * sequences begin with its ids as a prompt. Siblings of one wave stand in the order of their streams, so that the order of answers decides no batch.
 */
export const trainedCalls = (roots: readonly CallNode[]): TrainedCalls => {
  const sequences: TrainedCall[][] = [];
  const discarded: CallNode[] = [];
  /** Keeps the calls to train on, and notes the others. */
  const chooseAmong = (siblings: readonly CallNode[]): readonly CallNode[] => {
    const chosen = kept(siblings).toSorted((a, b) => a.wave - b.wave || a.stream - b.stream);
    discarded.push(...siblings.filter((node) => !chosen.includes(node)));
    return chosen;
  };
  const starts = [...chooseAmong(roots)];
  // The loop also visits the starts that it pushes: every child beside a first one.
  for (const start of starts) {
    const shared = start.parent === null ? [] : [pathIds(start.parent)];
    const sequence: TrainedCall[] = [{ node: start, prompt: concatIds([...shared, start.prompt]) }];
    sequences.push(sequence);
    for (let at = start; ; ) {
      const [next, ...others] = chooseAmong(at.children);
      starts.push(...others);
      if (next === undefined) break;
      sequence.push({ node: next, prompt: next.prompt });
      at = next;
    }
  }
  return { sequences, discarded };
};
