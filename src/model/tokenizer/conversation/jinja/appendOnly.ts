/**
 * Finds out whether a template is append-only: whether a conversation put together from an opening, replies and bridges is what the
 * template writes for all of its messages. Many templates leave the thoughts of earlier replies out once a user writes again.
 * Each shape of what may follow a reply has its own answer, with thoughts in replies and without.
 */
import { Effect, Result } from "effect";
import type { Message } from "../../../../domain/Conversation.ts";
import type { JinjaTemplate } from "../../JinjaTemplate.ts";
import { quote } from "../../quote.ts";
import { promptOf, thoughtTag } from "../../TextVariants.ts";
import { type ChatRenderer, joinParts } from "./ChatRenderer.ts";
import { asItIs, messageRequest, toolRequests } from "./chatRequest.ts";
import { wordTool } from "./Words.ts";

const shapes = ["results", "results_user", "user"] as const;
/** The messages behind a reply: a user's, tool results, or results and then a user's. */
export type Shape = (typeof shapes)[number];

export const shapeOf = (added: readonly Message[]): Shape => {
  if (!added.some(({ role }) => role === "tool")) return "user";
  return added.every(({ role }) => role === "tool") ? "results" : "results_user";
};

/** Says for each shape what the template rewrites; undefined where it rewrites nothing. */
export type Rewritings = Readonly<Record<Shape, string | undefined>>;

const user = (text: string): Message => ({ role: "user", text });
const reply = (text: string): Message => ({ role: "assistant", text, calls: [] });
const callOf = (id: string) => ({ id, name: wordTool.name, arguments: { qzparameterqz: `qzvalue${id}qz` } });
const calling = (...ids: readonly string[]): Message => ({ role: "assistant", text: "", calls: ids.map(callOf) });
const result = (id: string): Message => ({ role: "tool", call: id, text: `qzresult${id}qz` });

interface Sample {
  readonly messages: readonly Message[];
  readonly hasTools: boolean;
  /** The template may refuse it, as Llama 3's does several calls at once. */
  readonly isOptional?: boolean;
  /** It has bridges of results, too; a template that rewrites those says nothing of the shape by it. */
  readonly hasResults?: boolean;
}

const system: Message = { role: "system", text: "qzsystemqz" };
const [one, two, three] = [user("qzuseroneqz"), user("qzusertwoqz"), user("qzuserthreeqz")] as const;
const [first, second] = [reply("qzreplyoneqz"), reply("qzreplytwoqz")] as const;
const plainTalk: readonly Message[] = [one, first, two, second, three];

/** Conversations whose last bridges have the shape. */
const samples: Readonly<Record<Shape, readonly Sample[]>> = {
  user: [
    { messages: plainTalk, hasTools: false },
    { messages: [system, ...plainTalk], hasTools: false },
    { messages: [system, ...plainTalk], hasTools: true },
    { messages: [one, calling("a"), result("a"), first, two], hasTools: true, hasResults: true },
  ],
  results: [
    { messages: [one, calling("a"), result("a")], hasTools: true },
    { messages: [system, one, calling("a"), result("a"), calling("b"), result("b")], hasTools: true },
    { messages: [one, calling("a", "b"), result("a"), result("b")], hasTools: true, isOptional: true },
  ],
  results_user: [
    { messages: [one, calling("a"), result("a"), two], hasTools: true },
    { messages: [one, calling("a", "b"), result("a"), result("b"), two], hasTools: true, isOptional: true },
  ],
};

const thoughtAt = (index: number): string => `qzthought${index}qz`;

/** The message as the client sends a sampled reply back, with its thoughts. */
const withThought = (message: Message, index: number): Message =>
  message.role === "assistant"
    ? { ...message, text: `<think>\n${thoughtAt(index)}\n</think>\n\n${message.text}` }
    : message;

/** A part of the composed conversation: a text, or a reply of which the words are known. */
type Segment = { readonly text: string } | { readonly words: readonly string[]; readonly isPlain: boolean };

const replySegment = (message: Message, index: number, thinking: boolean): Segment => {
  const calls = message.role === "assistant" ? message.calls : [];
  const callWords = calls.flatMap(({ id, name }) => [name, `qzvalue${id}qz`]);
  const words = [...(thinking ? [thoughtAt(index)] : []), ...(message.text === "" ? [] : [message.text]), ...callWords];
  return { words, isPlain: calls.length === 0 };
};

/** True if `written` has the words in order; a reply without calls has nothing else but tags of thoughts and spaces. */
const isReply = (written: string, words: readonly string[], isPlain: boolean): boolean => {
  let at = 0;
  for (const word of words) {
    at = written.indexOf(word, at);
    if (at < 0) return false;
    at += word.length;
  }
  if (!isPlain) return true;
  const rest = words.reduce((text, word) => text.replace(word, ""), written);
  return rest.replace(/<\/?think>/g, "").trim() === "";
};

/** Length of the beginning that both texts have; an empty thought of `expected` counts whole or not at all. */
const commonLength = (text: string, expected: string): number => {
  let same = 0;
  while (same < expected.length && text[same] === expected[same]) same++;
  const thought = expected.lastIndexOf(thoughtTag);
  return thought >= 0 && thought < same && same < expected.length ? thought : same;
};

interface Mismatch {
  readonly expected: string;
  readonly written: string;
}

/** The first place at which `text` is not the segments in order. */
const mismatch = (text: string, segments: readonly Segment[], end: string): Mismatch | undefined => {
  let at = 0;
  for (const segment of segments) {
    if ("text" in segment) {
      const same = commonLength(text.slice(at), segment.text);
      if (same < segment.text.length) return { expected: segment.text.slice(same), written: text.slice(at + same) };
      at += segment.text.length;
    } else {
      const behind = text.indexOf(end, at);
      const written = text.slice(at, Math.max(at, behind));
      if (!isReply(written, segment.words, segment.isPlain)) return { expected: segment.words.join(" "), written };
      at = Math.max(at, behind);
    }
  }
  return at === text.length ? undefined : { expected: "", written: text.slice(at) };
};

const followers: Readonly<Record<Shape, string>> = {
  user: "a user's message follows",
  results: "tool results follow",
  results_user: "tool results and a user's message follow",
};

const explain = (shape: Shape, found: Mismatch, hasLostThought: boolean): string => {
  const once = `once ${followers[shape]}, the chat template`;
  if (hasLostThought) return `${once} leaves out the thoughts of earlier replies`;
  if (found.expected.startsWith(thoughtTag)) return `${once} leaves out the empty thoughts of earlier replies`;
  return `${once} writes ${quote(found.written)} where a bridge leaves ${quote(found.expected)}`;
};

export interface Probed {
  readonly template: JinjaTemplate;
  readonly renderer: ChatRenderer;
  /** The token that ends a reply. */
  readonly end: string;
  readonly hasTools: boolean;
  /** It takes a message of the system. */
  readonly hasSystem: boolean;
}

const applies = ({ hasSystem, hasTools }: Probed, sample: Sample): boolean =>
  (hasTools || !sample.hasTools) && (hasSystem || !sample.messages.includes(system));

/** Compares one sample with what the template writes for it. */
const checkSample = Effect.fnUntraced(function* (
  { end, renderer, template }: Probed,
  shape: Shape,
  { hasTools, messages }: Sample,
  thinking: boolean,
): Effect.fn.Return<string | undefined, string> {
  const tools = hasTools ? [wordTool] : [];
  const replyPrefix = thinking ? thoughtTag : "";
  const segments: Segment[] = [];
  let from = 0;
  for (let at = 0; at <= messages.length; at++) {
    const message = messages[at];
    if (message !== undefined && message.role !== "assistant") continue;
    const added = messages.slice(from, at);
    const parts = yield* from === 0
      ? renderer.opening({ messages: added, tools }, replyPrefix)
      : renderer.bridge(added, tools, replyPrefix);
    segments.push({ text: joinParts(parts) });
    if (message !== undefined) segments.push(replySegment(message, at, thinking));
    from = at + 1;
  }
  const sent = thinking ? messages.map(withThought) : messages;
  const requests = sent.map((message) => messageRequest(message, asItIs));
  const whole = promptOf(yield* template.render(requests, thinking, toolRequests(tools, asItIs)), replyPrefix);
  const found = mismatch(whole, segments, end);
  if (found === undefined) return undefined;
  const thoughts = messages.flatMap(({ role }, index) => (role === "assistant" ? [thoughtAt(index)] : []));
  return explain(shape, found, thinking && thoughts.some((thought) => !whole.includes(thought)));
});

/** The answers of a template, with thoughts in replies or without. Shapes with results are left out where it has no tools. */
export const rewritingsOf = Effect.fnUntraced(function* (
  probed: Probed,
  thinking: boolean,
): Effect.fn.Return<Rewritings> {
  const answers: Record<Shape, string | undefined> = { user: undefined, results: undefined, results_user: undefined };
  for (const shape of shapes) {
    for (const sample of samples[shape]) {
      if (answers[shape] !== undefined || !applies(probed, sample)) continue;
      if (sample.hasResults === true && answers.results !== undefined) continue;
      const answer = yield* Effect.result(checkSample(probed, shape, sample, thinking));
      if (Result.isSuccess(answer)) answers[shape] = answer.success;
      else if (sample.isOptional !== true) answers[shape] = answer.failure;
    }
  }
  return probed.hasTools ? answers : { ...answers, results_user: answers.user };
});
