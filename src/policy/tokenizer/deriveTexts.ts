/**
 * What a folder's own chat template writes around messages, read off what it makes of a few chats of known words. Templates that drop the
 * thoughts of earlier replies leave their other words, so what follows a reply is read where a later message follows it.
 * Invariant: chats composed of the texts are what the template writes for the same messages; where they are not, the failure is a sentence
 * that says what of the template cannot be kept.
 */
import { Result } from "effect";
import { type ChatTexts, openingParts, type Trims, trimmed } from "./ChatTexts.ts";
import type { JinjaTemplate, Message } from "./JinjaTemplate.ts";

type Derived<A> = Result.Result<A, string>;

/** Words that no template writes. */
const words = {
  system: "qzsystemqz",
  users: ["qzuseroneqz", "qzusertwoqz", "qzuserthreeqz"],
  replies: ["qzreplyoneqz", "qzreplytwoqz"],
} as const;

/** Messages of a user and an assistant in turn, after one of the system unless `system` is null. */
const chat = (system: string | null, users: readonly string[], replies: readonly string[]): readonly Message[] => [
  ...(system === null ? [] : [{ role: "system", content: system } as const]),
  ...users.flatMap((content, index): readonly Message[] => {
    const reply = replies[index];
    return [{ role: "user", content }, ...(reply === undefined ? [] : [{ role: "assistant", content: reply } as const])];
  }),
];

const shown = (text: string): string => JSON.stringify(text.length > 80 ? `${text.slice(0, 80)}…` : text);

/** The pieces of `text` around `marks`, each of which stands in it once, in their order; undefined where they do not. */
const around = (text: string, marks: readonly string[]): readonly string[] | undefined => {
  const pieces: string[] = [];
  let rest = text;
  for (const mark of marks) {
    const at = rest.indexOf(mark);
    if (at < 0 || text.split(mark).length !== 2) return undefined;
    pieces.push(rest.slice(0, at));
    rest = rest.slice(at + mark.length);
  }
  return [...pieces, rest];
};

/** The pieces of a rendering, as many as `marks` and one. */
const pieces = (
  template: JinjaTemplate,
  messages: readonly Message[],
  marks: readonly string[],
  thinking = true,
): Derived<readonly string[]> =>
  Result.flatMap(template.render(messages, thinking), (text) => {
    const found = around(text, marks);
    return found === undefined ? Result.fail(`it does not write every message once, in order: ${shown(text)}`) : Result.succeed(found);
  });

/** What opens a chat: before the first user's text, and the prompt after it. */
const openings = (template: JinjaTemplate): Derived<Pick<ChatTexts, "alone" | "prompt">> => Result.gen(function* () {
  const [user] = words.users;
  const only = chat(null, [user], []);
  const [alone = "", thinking = ""] = yield* pieces(template, only, [user]);
  const [again = "", plain = ""] = yield* pieces(template, only, [user], false);
  if (again !== alone) return yield* Result.fail("its switch for thoughts changes what stands before the first message");
  return { alone, prompt: { thinking, plain } };
});

/** What stands around the system message; null where the template refuses such a message, or leaves its text out. */
const systemOf = (template: JinjaTemplate, prompt: string): Derived<ChatTexts["system"]> => {
  const [user] = words.users;
  const found = pieces(template, chat(words.system, [user], []), [words.system, user]);
  if (Result.isFailure(found)) return Result.succeed(null);
  const [before = "", after = "", rest = ""] = found.success;
  if (rest !== prompt) return Result.fail("it prompts for a reply otherwise after a system message");
  return Result.succeed([before, after]);
};

interface Between {
  /** From a user's text to the reply of an earlier turn. */
  readonly head: string;
  /** From such a reply to the next user's text. */
  readonly gap: string;
}

/** What stands around earlier replies: the same at every turn, with a system message and without. */
const between = (
  template: JinjaTemplate,
  { alone, prompt, system }: Pick<ChatTexts, "alone" | "prompt" | "system">,
): Derived<Between> => Result.gen(function* () {
  const [one, two, three] = words.users;
  const [first, second] = words.replies;
  const marks = [one, first, two, second, three];
  let known: Between | undefined;
  for (const thinking of [true, false]) {
    for (const message of system === null ? [null] : [null, words.system]) {
      const messages = chat(message, words.users, words.replies);
      const all = yield* pieces(template, messages, message === null ? marks : [message, ...marks], thinking);
      const opening = message === null ? [alone] : system;
      const [head = "", gap = "", nextHead, nextGap, end] = all.slice(opening?.length ?? 0);
      if (opening?.some((text, index) => text !== all[index])) {
        return yield* Result.fail("later messages change what it writes before the first reply");
      }
      known ??= { head, gap };
      if (head !== nextHead || gap !== nextGap || head !== known.head || gap !== known.gap) {
        return yield* Result.fail(`what it writes around a reply differs from turn to turn: ${shown(gap)}, ${shown(nextGap ?? "")}`);
      }
      if (end !== (thinking ? prompt.thinking : prompt.plain)) {
        return yield* Result.fail(`it prompts for a later reply otherwise than for the first: ${shown(end ?? "")}`);
      }
    }
  }
  return known ?? { head: "", gap: "" };
});

/** The token that `gap` begins with, and the rest. */
const ended = (gap: string, tokens: Iterable<string>): Derived<Pick<ChatTexts, "end" | "between">> => {
  const end = [...tokens].reduce((best, token) => (gap.startsWith(token) && token.length > best.length ? token : best), "");
  return end === ""
    ? Result.fail(`it ends no reply with a token of its own: ${shown(gap)} follows one`)
    : Result.succeed({ end, between: gap.slice(end.length) });
};

const blank = " \n\t ";

/** Which ends of a message it strips, from how it writes `mark` with blanks around it. */
const trimsOf = (written: string, plain: string, mark: string): Trims => {
  const [before, after] = around(written, [mark]) ?? ["", ""];
  const [wantedBefore, wantedAfter] = around(plain, [mark]) ?? ["", ""];
  return { start: before === wantedBefore, end: after === wantedAfter };
};

const trims = (template: JinjaTemplate, system: ChatTexts["system"]): Derived<ChatTexts["trims"]> => Result.gen(function* () {
  const padded = (word: string) => `${blank}${word}${blank}`;
  const [user] = words.users;
  const message = system === null ? null : words.system;
  const render = (told: string | null, asked: string) => template.render(chat(told, [asked], []), true);
  const plain = yield* render(message, user);
  const users = trimsOf(yield* render(message, padded(user)), plain, user);
  if (message === null) return { user: users, system: users };
  return { user: users, system: trimsOf(yield* render(padded(message), user), plain, message) };
});

/** Texts that a template may rewrite. */
const samples = [
  `${blank}a b${blank}`,
  "\n\na\n\n\nb\n",
  "<think>a</think>b",
  "</think>",
  "{{ a }} {% if %} {# #}",
  "Ünï 漢字 \u00a0'\"\\",
];

/** What the template makes of a chat of `sample`, against the texts put together. */
const check = (template: JinjaTemplate, texts: ChatTexts, sample: string): Derived<void> => {
  const { between, end, head, prompt, trims } = texts;
  const [reply] = words.replies;
  for (const system of texts.system === null ? [null] : [null, sample]) {
    const opening = openingParts(texts, system ?? "", sample).map(({ text }) => text);
    const composed = [...opening, head, reply, end, between, trimmed(sample, trims.user), prompt.thinking].join("");
    const rendered = template.render(chat(system, [sample, sample], [reply]), true);
    if (Result.isFailure(rendered)) return Result.fail(rendered.failure);
    if (rendered.success !== composed) return Result.fail(`it rewrites a message's text ${shown(sample)}`);
  }
  return Result.succeed(undefined);
};

/** The texts of `template`. `tokens` are those that its tokenizer has added to its vocabulary. Fails with what cannot be kept. */
export const deriveTexts = (template: JinjaTemplate, tokens: Iterable<string>): Derived<ChatTexts> => Result.gen(
  function* () {
    const { alone, prompt } = yield* openings(template);
    const system = yield* systemOf(template, prompt.thinking);
    const { gap, head } = yield* between(template, { alone, prompt, system });
    if (!prompt.thinking.startsWith(head) && !head.startsWith(prompt.thinking)) {
      return yield* Result.fail(`it prompts for a reply with ${shown(prompt.thinking)} and shows an earlier one after ${shown(head)}`);
    }
    const texts = { system, alone, prompt, head, ...(yield* ended(gap, tokens)), trims: yield* trims(template, system) };
    for (const sample of samples) yield* check(template, texts, sample);
    return texts;
  },
);
