/** What is read off chat templates of awkward kinds, and the sentences about those that cannot be kept. */
import { describe, expect, it } from "@effect/vitest";
import { Result } from "effect";
import { openingParts } from "../../../src/policy/tokenizer/ChatTexts.ts";
import { deriveTexts } from "../../../src/policy/tokenizer/deriveTexts.ts";
import * as JinjaTemplate from "../../../src/policy/tokenizer/JinjaTemplate.ts";

const tokens = ["<s>", "</s>", "<|u|>", "<|a|>", "<|end|>", "<|e"];
const config = { bos_token: "<s>", eos_token: { content: "</s>" } };

const derived = (source: string) =>
  JinjaTemplate.make(source, config).pipe(Result.flatMap((template) => deriveTexts(template, tokens, true)));

const textsOf = (source: string) => Result.getOrThrow(derived(source));
const refusal = (source: string) => {
  const result = derived(source);
  return Result.isFailure(result) ? result.failure : "supported";
};

const turn = "{{ '<|' + m.role[0] + '|>' + m.content }}{% if m.role == 'assistant' %}<|end|>{% endif %}";
const each = (body: string) =>
  `{% for m in messages %}${body}{% endfor %}{% if add_generation_prompt %}<|a|>{% endif %}`;

const refusing =
  "{{ bos_token }}{% if messages[0].role == 'system' %}{{ raise_exception('System role not supported') }}{% endif %}" +
  each(
    "{% if (m.role == 'user') != (loop.index0 % 2 == 0) %}{{ raise_exception('roles must alternate') }}{% endif %}" +
      turn,
  );

describe("the texts of a template", () => {
  it("put a system message before the user's text where the template refuses one", () => {
    const texts = textsOf(refusing);
    expect(texts.system).toBeNull();
    expect(openingParts(texts, "Be short.", "Go").map(({ text }) => text)).toEqual(["<s><|u|>", "Be short.\n\nGo"]);
  });

  it("put it there, too, where the template leaves it out", () => {
    expect(textsOf(each(`{% if m.role != 'system' %}${turn}{% endif %}`)).system).toBeNull();
  });

  it("end a reply with the longest token that the template writes behind one", () => {
    expect(textsOf(each(turn))).toMatchObject({ end: "<|end|>", between: "<|u|>", head: "<|a|>" });
  });

  it("say which ends of a message are stripped, as Python strips them", () => {
    const stripping = each(turn.replace("m.content", "(m.content if m.role == 'system' else m.content.lstrip())"));
    expect(textsOf(stripping).trims).toEqual({
      system: { start: false, end: false },
      user: { start: true, end: false },
    });
    const texts = textsOf(each(turn.replace("m.content", "(m.content | trim)")));
    expect(openingParts(texts, "", "\u0085\u001c x\ufeff \n").at(-1)?.text).toBe("x\ufeff");
  });

  it("are the same on every day", () => {
    const dated = `{{ strftime_now('%A %d %B %Y, %H:%M %%') }}\n${each(turn)}`;
    expect(textsOf(dated).alone).toBe("Friday 26 July 2024, 00:00 %\n<|u|>");
  });

  it("are read from templates that mark what is trained on", () => {
    const marked = turn.replace("m.content }}", "'' }}{%- generation -%}{{ m.content }}{%- endgeneration %}");
    expect(textsOf(each(marked))).toEqual(textsOf(each(turn)));
  });
});

describe("a template is refused with the reason", () => {
  const numbered = each(turn.replace("m.content", "(loop.index0 | string) + m.content"));
  const systemLast = each(
    "{% if m.role == 'user' %}{{ '<|u|>' }}{% if loop.last and messages[0].role == 'system' %}{{ messages[0].content }}" +
      `{% endif %}{{ m.content }}{% elif m.role == 'assistant' %}${turn}{% endif %}`,
  );
  it.each([
    ["that cannot be read", "{% if %}", "Unexpected token"],
    ["that raises", "{{ raise_exception('no chats') }}", "no chats"],
    ["that leaves messages out", "hello", "it does not write every message once, in order"],
    ["that counts its messages", numbered, "what it writes around a reply differs from turn to turn"],
    ["that moves the system message", systemLast, "it does not write every message once, in order"],
    ["that ends no reply", each("{{ '<|' + m.role[0] + '|>' + m.content }}"), "it needs a token that ends a reply"],
    [
      "that shortens its texts",
      each(turn.replace("m.content", "m.content | replace('think', '')")),
      "it rewrites a message",
    ],
    [
      "that asks otherwise later",
      `${each(turn)}{% if messages | length > 2 %}!{% endif %}`,
      "it prompts for a later reply",
    ],
  ])("%s", (_, source, reason) => {
    expect(refusal(source)).toContain(reason);
  });
});
