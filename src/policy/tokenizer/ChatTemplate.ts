/**
 * Renders a chat piece by piece: the opening before the first reply, then only the text between two replies. Earlier ids are never
 * rendered again, because a template applied to the whole chat may split text differently and drop or add what was not sampled.
 * Invariants: opening + reply + bridge + reply + …, each reply ending in `endId`, spells the style's whole chat; text of the system,
 * the user or an environment cannot close a turn or open another.
 */
import { Effect } from "effect";
import { type CheckpointError, checkpointError } from "../checkpoint/CheckpointError.ts";
import type { ChatStyle, TextPart, Tokenizer } from "./Tokenizer.ts";

export interface ChatTemplate {
  /** Ids up to the first reply. An empty `system` leaves that message out; `replyPrefix` begins the reply. */
  readonly opening: (system: string, user: string, replyPrefix?: string) => Int32Array;
  /** Ids between a reply that ended with `endId` and the next reply. */
  readonly bridge: (nextUser: string, replyPrefix?: string) => Int32Array;
  /** How many of an opening's ids come before the text of its user message: the system message, and the marker of the user's role. */
  readonly beforeUser: (opening: Int32Array) => number;
  /** The token that ends a reply. */
  readonly endId: number;
}

interface Markers {
  readonly system: readonly [open: string, close: string];
  readonly user: readonly [open: string, close: string];
  /** The special token that opens a user message; no text can spell it. */
  readonly userMarker: string;
  readonly assistant: string;
  readonly end: string;
  /** What the style writes after the end of a reply. */
  readonly afterReply: string;
}

const markers: Readonly<Record<ChatStyle, Markers>> = {
  chatml: {
    system: ["<|im_start|>system\n", "<|im_end|>\n"],
    user: ["<|im_start|>user\n", "<|im_end|>\n"],
    userMarker: "<|im_start|>",
    assistant: "<|im_start|>assistant\n",
    end: "<|im_end|>",
    afterReply: "\n",
  },
  compact: {
    system: ["<|system|>", ""],
    user: ["<|user|>", ""],
    userMarker: "<|user|>",
    assistant: "<|assistant|>",
    end: "<|im_end|>",
    afterReply: "",
  },
};

const needed: Readonly<Record<ChatStyle, readonly string[]>> = {
  chatml: ["<|im_start|>", "<|im_end|>"],
  compact: ["<|system|>", "<|user|>", "<|assistant|>", "<|im_end|>"],
};

const trusted = (text: string): TextPart => ({ text, untrusted: false });
const untrusted = (text: string): TextPart => ({ text, untrusted: true });

/** The template of `style` over `tokenizer`'s ids. Fails with `CheckpointError` where the tokenizer lacks the style's markers. */
export const make = (
  tokenizer: Tokenizer,
  style: ChatStyle = tokenizer.chatStyle,
): Effect.Effect<ChatTemplate, CheckpointError> => {
  const { system, user, userMarker, assistant, end, afterReply } = markers[style];
  const missing = needed[style].filter((marker) => !tokenizer.specials.has(marker));
  const endId = tokenizer.specials.get(end);
  const markerId = tokenizer.specials.get(userMarker);
  if (missing.length > 0 || endId === undefined || markerId === undefined) {
    const detail = `the chat style "${style}" needs the special tokens ${missing.join(", ")}, which this tokenizer does not have`;
    return Effect.fail(checkpointError("tokenizer.json", "unsupported", detail));
  }
  const userTurn = (text: string, replyPrefix: string): readonly TextPart[] => [
    trusted(user[0]),
    untrusted(text),
    trusted(user[1] + assistant + replyPrefix),
  ];
  const systemIds = tokenizer.encode(system[0].trimEnd());
  return Effect.succeed({
    beforeUser: (opening) => {
      const systemFirst = systemIds.every((id, i) => opening[i] === id);
      const marker = opening.indexOf(markerId, systemFirst ? systemIds.length : 0);
      return marker === -1 ? opening.length : marker + 1;
    },
    opening: (systemText, userText, replyPrefix = "") =>
      tokenizer.encodeParts([
        ...(systemText === "" ? [] : [trusted(system[0]), untrusted(systemText), trusted(system[1])]),
        ...userTurn(userText, replyPrefix),
      ]),
    bridge: (nextUser, replyPrefix = "") =>
      tokenizer.encodeParts([trusted(afterReply), ...userTurn(nextUser, replyPrefix)]),
    endId,
  });
};
