/** Texts are derived from awkward chat templates, and templates that cannot be followed are refused. */
import { describe, expect, it } from "@effect/vitest";
import { Effect, Fiber, Result } from "effect";
import { openingParts } from "../../../src/model/tokenizer/ChatTexts.ts";
import { deriveTexts } from "../../../src/model/tokenizer/deriveTexts.ts";
import * as JinjaTemplate from "../../../src/model/tokenizer/JinjaTemplate.ts";

const tokens = ["<s>", "</s>", "<|u|>", "<|a|>", "<|end|>", "<|e"];
const config = { bos_token: "<s>", eos_token: { content: "</s>" } };

const derived = (source: string) =>
  JinjaTemplate.make(source, config).pipe(
    Effect.flatMap((template) => deriveTexts(template, tokens, true)),
    Effect.scoped,
  );

const textsOf = (source: string) => Effect.runPromise(derived(source));
const refusal = async (source: string) => {
  const result = await Effect.runPromise(Effect.result(derived(source)));
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
  it("put a system message before the user's text where the template refuses one", async () => {
    const texts = await textsOf(refusing);
    expect(texts.system).toBeNull();
    expect(openingParts(texts, "Be short.", "Go").map(({ text }) => text)).toEqual(["<s><|u|>", "Be short.\n\nGo"]);
  });

  it("put it there, too, where the template leaves it out", async () => {
    expect((await textsOf(each(`{% if m.role != 'system' %}${turn}{% endif %}`))).system).toBeNull();
  });

  it("end a reply with the longest token that the template writes behind one", async () => {
    expect(await textsOf(each(turn))).toMatchObject({ end: "<|end|>", between: "<|u|>", earlierPrompt: "<|a|>" });
  });

  it("say which ends of a message are stripped, as Python strips them", async () => {
    const stripping = each(turn.replace("m.content", "(m.content if m.role == 'system' else m.content.lstrip())"));
    expect((await textsOf(stripping)).trims).toEqual({
      system: { start: false, end: false },
      user: { start: true, end: false },
    });
    const texts = await textsOf(each(turn.replace("m.content", "(m.content | trim)")));
    expect(openingParts(texts, "", "\u0085\u001c x\ufeff \n").at(-1)?.text).toBe("x\ufeff");
  });

  it("are the same on every day", async () => {
    const dated = `{{ strftime_now('%A %d %B %Y, %H:%M %%') }}\n${each(turn)}`;
    expect((await textsOf(dated)).beforeFirstUser).toBe("Friday 26 July 2024, 00:00 %\n<|u|>");
  });

  it("are read from templates that mark what is trained on", async () => {
    const marked = turn.replace("m.content }}", "'' }}{%- generation -%}{{ m.content }}{%- endgeneration %}");
    expect(await textsOf(each(marked))).toEqual(await textsOf(each(turn)));
  });
});

describe("a template that a stranger wrote is ended", () => {
  const endOf = (source: string, limits: Partial<JinjaTemplate.Limits>) =>
    JinjaTemplate.make(source, config, { ...JinjaTemplate.defaultLimits, ...limits }).pipe(
      Effect.flatMap((template) => template.render([{ role: "user", content: "x" }], true)),
      Effect.scoped,
      Effect.flip,
      Effect.runPromise,
    );
  const loop = "{% for a in range(1000000) %}{% for b in range(1000000) %}{% endfor %}{% endfor %}";
  const growing = "{% set n = namespace(x=['a']) %}{% for i in range(40) %}{% set n.x = n.x + n.x %}{% endfor %}";

  it("where it loops", async () => {
    expect(await endOf(loop, { ms: 300 })).toBe("it takes longer than 0.3 s for one chat");
  });

  it("where it takes a gigabyte", async () => {
    expect(await endOf(growing, { ms: 60_000 })).toBe("it needs more than 128 MiB of memory for one chat");
  });

  it("where it writes without end", async () => {
    const long = `{% for a in range(3000) %}${"x".repeat(1_000)}{% endfor %}`;
    expect(await endOf(long, { ms: 60_000 })).toBe("it writes more than 1048576 characters");
  });

  it("where nobody waits for it any longer, and this process is not held up", async () => {
    const waiting = Effect.runFork(
      Effect.scoped(Effect.flatMap(JinjaTemplate.make(loop, config), (renderer) => renderer.render([], true))),
    );
    await new Promise((resolve) => setTimeout(resolve, 50));
    expect(await Effect.runPromise(Effect.as(Fiber.interrupt(waiting), "ended"))).toBe("ended");
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
  ])("%s", async (_, source, reason) => {
    expect(await refusal(source)).toContain(reason);
  });
});
