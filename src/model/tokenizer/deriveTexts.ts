/**
 * Derives the texts around messages from a folder's chat template, by rendering a few chats of known words.
 * Some templates drop earlier thoughts, so the text after a reply is read in chats where a later message follows.
 * Invariant: chats composed of the texts are what the template writes; otherwise the failure says what of the template cannot be kept.
 */
import { Effect, Result } from "effect";
import { type ChatTexts, openingParts, type Trims, trim, withoutThought } from "./ChatTexts.ts";
import type { JinjaTemplate } from "./JinjaTemplate.ts";
import { quote } from "./quote.ts";
import type { Message } from "./templateProcess.ts";

type Derivation<A> = Effect.Effect<A, string>;

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
    return [
      { role: "user", content },
      ...(reply === undefined ? [] : [{ role: "assistant", content: reply } as const]),
    ];
  }),
];

/** The pieces of `text` around `marks`, each of which stands in it once, in their order; undefined where they do not. */
const splitAtMarks = (text: string, marks: readonly string[]): readonly string[] | undefined => {
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

/** A template with its switch for thoughts set. */
type Render = (messages: readonly Message[]) => Derivation<string>;

/** The pieces of a rendering, one more than `marks`. */
const pieces = (
  render: Render,
  messages: readonly Message[],
  marks: readonly string[],
): Derivation<readonly string[]> =>
  Effect.flatMap(render(messages), (text) => {
    const texts = splitAtMarks(text, marks);
    return texts === undefined
      ? Effect.fail(`it does not write every message once, in order: ${quote(text)}`)
      : Effect.succeed(texts);
  });

/** Derives the text before the first user's message, and the prompt after it. */
const openingTexts = (render: Render): Derivation<Pick<ChatTexts, "beforeFirstUser" | "prompt">> => {
  const [user] = words.users;
  const texts = pieces(render, chat(null, [user], []), [user]);
  return Effect.map(texts, ([beforeFirstUser = "", prompt = ""]) => ({ beforeFirstUser, prompt }));
};

/** Derives the texts around the system message; null if the template refuses such a message or omits its text. */
const systemTexts = (render: Render, prompt: string): Derivation<ChatTexts["system"]> =>
  Effect.gen(function* () {
    const [user] = words.users;
    const texts = yield* Effect.result(pieces(render, chat(words.system, [user], []), [words.system, user]));
    if (Result.isFailure(texts)) return null;
    const [before = "", after = "", rest = ""] = texts.success;
    if (rest !== prompt) return yield* Effect.fail("it prompts for a reply otherwise after a system message");
    return [before, after];
  });

interface ReplySurroundings {
  /** From a user's text to the reply of an earlier turn. */
  readonly earlierPrompt: string;
  /** From such a reply to the next user's text. */
  readonly gap: string;
}

type OpeningTexts = Pick<ChatTexts, "beforeFirstUser" | "prompt" | "system">;

/** Derives the texts around earlier replies of a chat, with the system message `systemText` or none. */
const aroundReplies = (
  render: Render,
  { beforeFirstUser, prompt, system }: OpeningTexts,
  systemText: string | null,
): Derivation<ReplySurroundings> =>
  Effect.gen(function* () {
    const [one, two, three] = words.users;
    const [first, second] = words.replies;
    const marks = [...(systemText === null ? [] : [systemText]), one, first, two, second, three];
    const texts = yield* pieces(render, chat(systemText, words.users, words.replies), marks);
    const before = systemText === null ? [beforeFirstUser] : (system ?? []);
    if (before.some((text, index) => text !== texts[index])) {
      return yield* Effect.fail("later messages change what it writes before the first reply");
    }
    const [earlierPrompt = "", gap = "", nextPrompt = "", nextGap = "", end = ""] = texts.slice(before.length);
    yield* failUnlessEqual("what it writes around a reply differs from turn to turn", earlierPrompt, nextPrompt);
    yield* failUnlessEqual("what it writes around a reply differs from turn to turn", gap, nextGap);
    yield* failUnlessEqual("it prompts for a later reply otherwise than for the first", prompt, end);
    return { earlierPrompt, gap };
  });

const failUnlessEqual = (problem: string, one: string, other: string): Derivation<void> =>
  one === other ? Effect.succeed(undefined) : Effect.fail(`${problem}: ${quote(one)}, ${quote(other)}`);

/** Derives the texts around earlier replies, which must not depend on a system message. */
const replySurroundings = (render: Render, opening: OpeningTexts): Derivation<ReplySurroundings> =>
  Effect.gen(function* () {
    const plain = yield* aroundReplies(render, opening, null);
    if (opening.system === null) return plain;
    const withSystem = yield* aroundReplies(render, opening, words.system);
    yield* failUnlessEqual(
      "a system message changes what it writes around a reply",
      plain.earlierPrompt + plain.gap,
      withSystem.earlierPrompt + withSystem.gap,
    );
    return plain;
  });

/** The token that `gap` begins with, and the rest, in which another opens the user's turn. */
const endTexts = (gap: string, tokens: readonly string[]): Derivation<Pick<ChatTexts, "end" | "between">> => {
  const longer = (best: string, token: string) => (gap.startsWith(token) && token.length > best.length ? token : best);
  const end = tokens.reduce(longer, "");
  const between = gap.slice(end.length);
  return end === "" || !tokens.some((token) => between.includes(token))
    ? Effect.fail(
        `it needs a token that ends a reply and one that opens a user's turn; between them it writes ${quote(gap)}`,
      )
    : Effect.succeed({ end, between });
};

const blank = " \n\t ";

/** Finds the stripped ends of a message from the rendering of `mark` with blanks around it. */
const trimsOf = (written: string, plain: string, mark: string): Trims => {
  const [before, after] = splitAtMarks(written, [mark]) ?? ["", ""];
  const [wantedBefore, wantedAfter] = splitAtMarks(plain, [mark]) ?? ["", ""];
  return { start: before === wantedBefore, end: after === wantedAfter };
};

const trimsByRole = (render: Render, system: ChatTexts["system"]): Derivation<ChatTexts["trims"]> =>
  Effect.gen(function* () {
    const padded = (word: string) => `${blank}${word}${blank}`;
    const [user] = words.users;
    const message = system === null ? null : words.system;
    const write = (systemText: string | null, userText: string) => render(chat(systemText, [userText], []));
    const plain = yield* write(message, user);
    const users = trimsOf(yield* write(message, padded(user)), plain, user);
    if (message === null) return { user: users, system: users };
    return { user: users, system: trimsOf(yield* write(padded(message), user), plain, message) };
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

/** Fails unless the template renders a chat of `sample` as the texts compose it. */
const check = (render: Render, texts: ChatTexts, sample: string): Derivation<void> =>
  Effect.gen(function* () {
    const { between, end, earlierPrompt, prompt, system, trims } = texts;
    const [reply] = words.replies;
    for (const systemText of system === null ? [null] : [null, sample]) {
      const opening = openingParts(texts, systemText ?? "", sample).map(({ text }) => text);
      const composed = [...opening, earlierPrompt, reply, end, between, trim(sample, trims.user), prompt].join("");
      const written = yield* render(chat(systemText, [sample, sample], [reply]));
      if (written !== composed) return yield* Effect.fail(`it rewrites a message's text ${quote(sample)}`);
    }
  });

/**
 * The texts of `template` with its switch for thoughts on or off. `tokens` are those that its tokenizer has added to its vocabulary. Fails
 * with what cannot be kept.
 */
export const deriveTexts = (
  template: JinjaTemplate,
  tokens: readonly string[],
  thinking: boolean,
): Derivation<ChatTexts> =>
  Effect.gen(function* () {
    const render: Render = (messages) => template.render(messages, thinking);
    const { beforeFirstUser, prompt } = yield* openingTexts(render);
    const system = yield* systemTexts(render, prompt);
    const { earlierPrompt, gap } = yield* replySurroundings(render, { beforeFirstUser, prompt, system });
    const [next, earlier] = [withoutThought(prompt), withoutThought(earlierPrompt)];
    if (!next.startsWith(earlier) && !earlier.startsWith(next)) {
      return yield* Effect.fail(
        `it prompts for a reply with ${quote(next)} and shows an earlier one after ${quote(earlier)}`,
      );
    }
    const texts = {
      system,
      beforeFirstUser,
      prompt,
      earlierPrompt,
      ...(yield* endTexts(gap, tokens)),
      trims: yield* trimsByRole(render, system),
    };
    for (const sample of samples) yield* check(render, texts, sample);
    return texts;
  });
