/**
 * The calls of one episode as a tree: a call whose messages extend an answered call is its child, any other call begins a root. Invariants: the
 * ids of a call are those of its ancestors, as they were shown and sampled, and then its own; nothing that was answered is rendered again.
 */
import { isDeepStrictEqual } from "node:util";
import type { ForkReason } from "../../domain/AgentCall.ts";
import { concatIds } from "../../domain/Batch.ts";
import {
  type AssistantMessage,
  type Conversation,
  continuesWith,
  type Message,
  type Tool,
} from "../../domain/Conversation.ts";
import type { Sampled } from "../../domain/Episode.ts";

/** An answered call. */
export interface CallNode {
  /** Number of its answer in the episode, from 0. */
  readonly number: number;
  readonly parent: CallNode | null;
  /** Depth: 1 for a root. */
  readonly turn: number;
  /** Number of ids of its path, its reply included. */
  readonly pathLength: number;
  /** Number of the line of calls that it is on: a first child goes on with its parent's line, any other call begins one. */
  readonly branch: number;
  readonly tools: readonly Tool[];
  /** Messages behind the parent's reply; all of them in a root. */
  readonly added: readonly Message[];
  /** Ids behind the parent's sampled ids; the whole prompt of a root. */
  readonly prompt: Int32Array;
  readonly sampled: Sampled;
  /** The reply as the client got it. */
  readonly reply: AssistantMessage;
  /** Sentences on tool calls of the reply that could not be read. */
  readonly problems: readonly string[];
  /** Absent unless the call begins a root beside others. */
  readonly fork: ForkReason | null;
  readonly children: readonly CallNode[];
}

/** The place of a call in the tree, before it is answered. */
export interface Placement {
  readonly parent: CallNode | null;
  readonly turn: number;
  readonly branch: number;
  readonly added: readonly Message[];
  readonly fork: ForkReason | null;
}

interface GrowingNode extends CallNode {
  readonly children: GrowingNode[];
}

/** The deepest node below `nodes` whose messages and reply begin the conversation from `at` on, and the index behind its reply. */
const deepestMatch = (
  nodes: readonly GrowingNode[],
  messages: readonly Message[],
  at: number,
): { readonly node: GrowingNode; readonly end: number } | null => {
  for (const node of nodes) {
    const end = at + node.added.length + 1;
    if (end >= messages.length || !continuesWith(messages, at, [...node.added, node.reply])) continue;
    return deepestMatch(node.children, messages, end) ?? { node, end };
  }
  return null;
};

const sameAdded = (a: readonly Message[], b: readonly Message[]): boolean =>
  a.length === b.length && continuesWith(a, 0, b);

/** All messages of a node's path, its reply last. */
export const transcriptOf = (node: CallNode): readonly Message[] => {
  const path: CallNode[] = [];
  for (let at: CallNode | null = node; at !== null; at = at.parent) path.push(at);
  return path.toReversed().flatMap(({ added, reply }) => [...added, reply]);
};

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

/** The tree of one episode. */
export class CallTree {
  readonly #roots: GrowingNode[] = [];
  #newest: GrowingNode | null = null;
  #size = 0;
  #branches = 0;

  get roots(): readonly CallNode[] {
    return this.#roots;
  }

  /** Number of calls. */
  get size(): number {
    return this.#size;
  }

  /**
   * Finds where a call belongs; the next call is placed when this one was added. A call with other tools than its path begins a root, since
   * tools stand in the first message; so does one whose messages make the model's template rewrite earlier ones, by `isRewriting`.
   */
  place(
    { messages, tools }: Conversation,
    isRewriting: (added: readonly Message[]) => boolean = () => false,
  ): Placement {
    const withTools = this.#roots.filter((root) => isDeepStrictEqual(root.tools, tools));
    const match = deepestMatch(withTools, messages, 0);
    const parent = match?.node ?? null;
    const added = messages.slice(match?.end ?? 0);
    if (parent !== null && isRewriting(added)) {
      return { parent: null, turn: 1, branch: this.#branches++, added: messages, fork: "template" };
    }
    const isRepeated = parent === null && withTools.some((root) => sameAdded(root.added, added));
    const isFork = parent === null && !isRepeated && this.#newest !== null;
    const fork = isFork && this.#newest !== null ? reasonOf({ messages, tools }, this.#newest) : null;
    const goesOn = match !== null && match.node.children.length === 0;
    return {
      parent,
      turn: (parent?.turn ?? 0) + 1,
      branch: goesOn ? match.node.branch : this.#branches++,
      added,
      fork,
    };
  }

  /** Adds an answered call. */
  add(placement: Placement, answered: Pick<CallNode, "tools" | "prompt" | "sampled" | "reply" | "problems">): CallNode {
    const { prompt, sampled } = answered;
    const pathLength = (placement.parent?.pathLength ?? 0) + prompt.length + sampled.ids.length;
    const node: GrowingNode = { ...placement, ...answered, number: this.#size, pathLength, children: [] };
    // A parent is a node of this tree: `place` found it here.
    const siblings = placement.parent === null ? this.#roots : (placement.parent as GrowingNode).children;
    siblings.push(node);
    this.#newest = node;
    this.#size++;
    return node;
  }
}

/** All ids of a call's path: prompts as they were shown, replies as they were sampled. */
export const pathIds = (node: CallNode): Int32Array =>
  concatIds([...(node.parent === null ? [] : [pathIds(node.parent)]), node.prompt, node.sampled.ids]);

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
  siblings.filter((node) => {
    if (node.children.length > 0) return true;
    return !siblings.some((other) => other.children.length > 0 && sameAdded(other.added, node.added));
  });

/**
 * The sequences to train on: one for each path from a root to a leaf. A call that several paths share is trained once, in the first; later
 * sequences begin with its ids as a prompt.
 */
export const trainedCalls = (roots: readonly CallNode[]): TrainedCalls => {
  const sequences: TrainedCall[][] = [];
  const discarded: CallNode[] = [];
  /** Goes on with `sequence` at `node`. */
  const walk = (node: CallNode, sequence: TrainedCall[]): void => {
    const next = kept(node.children);
    discarded.push(...node.children.filter((child) => !next.includes(child)));
    for (const [at, child] of next.entries()) {
      if (at === 0) {
        sequence.push({ node: child, prompt: child.prompt });
        walk(child, sequence);
      } else begin(child);
    }
  };
  const begin = (node: CallNode): void => {
    const shared = node.parent === null ? [] : [pathIds(node.parent)];
    const sequence = [{ node, prompt: concatIds([...shared, node.prompt]) }];
    sequences.push(sequence);
    walk(node, sequence);
  };
  const first = kept(roots);
  discarded.push(...roots.filter((root) => !first.includes(root)));
  for (const root of first) begin(root);
  return { sequences, discarded };
};
