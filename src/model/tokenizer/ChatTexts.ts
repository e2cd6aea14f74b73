/**
 * The texts of a chat before, between and after messages: those of a listed style, or derived from a folder's template
 * (deriveTexts.ts).
 * Invariant: opening + reply + `end` + `between` + user + `prompt` + reply + … is the chat, whatever the messages say.
 */

/** The ends of a message's text that lose whitespace, as by Python's `str.strip`. */
export interface Trims {
  readonly start: boolean;
  readonly end: boolean;
}

export interface ChatTexts {
  /** Up to the system message's text, and from there to the first user's. Null: its text stands before the user's, in the user's turn. */
  readonly system: readonly [before: string, after: string] | null;
  /** Up to the first user's text, where there is no system message. */
  readonly beforeFirstUser: string;
  /** From a user's text to the reply that comes next. */
  readonly prompt: string;
  /** From a user's text to the reply of an earlier turn: the prompt, but for thoughts. */
  readonly earlierPrompt: string;
  /** The token that ends a reply. */
  readonly end: string;
  /** From the end of a reply to the text of the next user message. */
  readonly between: string;
  readonly trims: { readonly system: Trims; readonly user: Trims };
}

/** Styles of turns without a template: ChatML as in Qwen2, or the nano model's one-token role markers. */
export const chatStyles = ["chatml", "compact"] as const;
export type ChatStyle = (typeof chatStyles)[number];

const untrimmed: Trims = { start: false, end: false };
const trims = { system: untrimmed, user: untrimmed };

const chatmlPrompt = "<|im_end|>\n<|im_start|>assistant\n";

export const styles: Readonly<Record<ChatStyle, ChatTexts>> = {
  chatml: {
    system: ["<|im_start|>system\n", "<|im_end|>\n<|im_start|>user\n"],
    beforeFirstUser: "<|im_start|>user\n",
    prompt: chatmlPrompt,
    earlierPrompt: chatmlPrompt,
    end: "<|im_end|>",
    between: "\n<|im_start|>user\n",
    trims,
  },
  compact: {
    system: ["<|system|>", "<|user|>"],
    beforeFirstUser: "<|user|>",
    prompt: "<|assistant|>",
    earlierPrompt: "<|assistant|>",
    end: "<|im_end|>",
    between: "<|user|>",
    trims,
  },
};

/** The markers that a tokenizer needs for a style. */
export const markersOf: Readonly<Record<ChatStyle, readonly string[]>> = {
  chatml: ["<|im_start|>", "<|im_end|>"],
  compact: ["<|system|>", "<|user|>", "<|assistant|>", "<|im_end|>"],
};

/** Whitespace as Python's `str.isspace` has it, which is not JavaScript's. */
const space = "[\\t-\\r\\x1c-\\x20\\x85\\xa0\\u1680\\u2000-\\u200a\\u2028\\u2029\\u202f\\u205f\\u3000]";
const spaceBefore = new RegExp(`^${space}+`);
const spaceAfter = new RegExp(`${space}+$`);

export const trim = (text: string, { end, start }: Trims): string => {
  const begun = start ? text.replace(spaceBefore, "") : text;
  return end ? begun.replace(spaceAfter, "") : begun;
};

/** The text before a reply without a thought that it opens, or one that it leaves empty. */
export const withoutThought = (text: string): string => text.replace(/<think>\s*(<\/think>\s*)?$/, "");

/** A piece of a prompt; one that a user, an environment or a run file wrote is untrusted. */
export interface TextPart {
  readonly text: string;
  readonly untrusted: boolean;
}

export const trustedText = (text: string): TextPart => ({ text, untrusted: false });
export const untrustedText = (text: string): TextPart => ({ text, untrusted: true });

/** A chat up to the end of the first user's text. An empty `system` leaves that message out. */
export const openingParts = (texts: ChatTexts, system: string, user: string): readonly TextPart[] => {
  const { trims } = texts;
  const userText = trim(user, trims.user);
  if (system === "") return [trustedText(texts.beforeFirstUser), untrustedText(userText)];
  if (texts.system === null)
    return [trustedText(texts.beforeFirstUser), untrustedText(trim(`${system}\n\n${user}`, trims.user))];
  const [before, after] = texts.system;
  return [trustedText(before), untrustedText(trim(system, trims.system)), trustedText(after), untrustedText(userText)];
};
