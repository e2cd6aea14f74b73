/** Conversations by a folder's chat template: its renderer, its form of tools, and what it rewrites. */
import { Effect } from "effect";
import type { Conversation, Message } from "../../../../domain/Conversation.ts";
import type { JinjaTemplate } from "../../JinjaTemplate.ts";
import { quote } from "../../quote.ts";
import { structureTokens, type TextVariants, thoughtTag, tokensIn } from "../../TextVariants.ts";
import type { Tokenizer } from "../../Tokenizer.ts";
import type { ConversationTexts } from "../ConversationTexts.ts";
import { type CallReader, readReply } from "../readReply.ts";
import { rewritingsOf, shapeOf } from "./appendOnly.ts";
import { type ChatRenderer, joinParts, makeRenderer } from "./ChatRenderer.ts";
import { type ToolForm, toolFormOf } from "./toolForm.ts";
import { wordTool } from "./Words.ts";

const readText: CallReader = (text) => ({ text, calls: [], problems: [] });

/** The tokens around tools, calls and results. Those of thoughts are not among them, as in turns. */
const toolStructure = ({ structure }: ToolForm): string => structure.replaceAll(/<\/?think>/g, "");

/** A text that spells the tokens between words. Thoughts are left out, and tokens that a template would write otherwise in JSON. */
const spelling = (tokens: readonly string[]): string =>
  ["qzspellingqz", ...tokens.filter((token) => !/^<\/?think>$|[\s"\\]/.test(token)), "qzspeltqz"].join(" ");

/** Counts the places in `text` at which a token begins. */
const countStarts = (text: string, tokens: readonly string[]): number =>
  Array.from(text, (_, at) => at).filter((at) => tokens.some((token) => text.startsWith(token, at))).length;

/** A chat in which each text is `text`, as a tool's description and an argument too. */
const chatOf = (text: string, hasTools: boolean): Conversation => ({
  messages: [
    { role: "user", text },
    { role: "assistant", text, calls: [] },
    { role: "user", text },
    ...(hasTools ? resultOf(text) : []),
  ],
  tools: hasTools ? [{ ...wordTool, description: text }] : [],
});

const resultOf = (text: string): readonly Message[] => [
  { role: "assistant", text: "", calls: [{ id: "a", name: wordTool.name, arguments: { qzargumentqz: text } }] },
  { role: "tool", call: "a", text },
];

/** Fails unless texts that spell tokens come through the template as they are, and every such token as an untrusted one. */
const checkSpelling = Effect.fnUntraced(function* (
  renderer: ChatRenderer,
  tokens: readonly string[],
  hasTools: boolean,
): Effect.fn.Return<void, string> {
  const text = spelling(tokens);
  const parts = yield* renderer.opening(chatOf(text, hasTools), "");
  const count = hasTools ? 6 : 3;
  const isWritten = joinParts(parts).split(text).length - 1 === count;
  const untrusted = parts.filter((part) => part.untrusted).length;
  if (isWritten && untrusted === count * countStarts(text, tokens)) return;
  return yield* Effect.fail(`it rewrites texts that spell its tokens: ${quote(text)}`);
});

/** The texts of `template`, whose texts without tools are `variants`. Fails with why it is not supported. */
export const make = Effect.fnUntraced(function* (
  template: JinjaTemplate,
  variants: TextVariants,
  { added, specials }: Pick<Tokenizer, "added" | "specials">,
): Effect.fn.Return<ConversationTexts, string> {
  const { end } = variants.plain;
  const form = yield* toolFormOf(template, end);
  const hasTools = form.problem === undefined;
  const structure = toolStructure(form);
  const tokens = [
    ...new Set([...specials.keys(), ...structureTokens(variants, added.keys()), ...tokensIn(structure, added.keys())]),
  ];
  const renderer = makeRenderer(template, variants, tokens);
  yield* checkSpelling(renderer, tokens, hasTools);
  const probed = { template, renderer, end, hasTools, hasSystem: variants.plain.system !== null };
  const [thinking, plain] = [yield* rewritingsOf(probed, true), yield* rewritingsOf(probed, false)];
  return {
    ...renderer,
    toolStructure: structure,
    read: readReply(form.problem === undefined ? form.read : readText),
    toolsProblem: form.problem,
    rewriting: (messages, replyPrefix) => (replyPrefix.startsWith(thoughtTag) ? thinking : plain)[shapeOf(messages)],
    isAppendOnly: [...Object.values(thinking), ...Object.values(plain)].every((reason) => reason === undefined),
  };
});
