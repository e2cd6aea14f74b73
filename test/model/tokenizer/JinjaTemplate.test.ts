/** A template's process lives as long as its scope, over chats that end it and texts that look like several lines. */
import { describe, expect, it } from "@effect/vitest";
import { Effect, Fiber } from "effect";
import * as JinjaTemplate from "../../../src/model/tokenizer/JinjaTemplate.ts";

const loop =
  "{% if messages[0].content == 'loop' %}{% for a in range(100000) %}{% for b in range(100000) %}{% endfor %}{% endfor %}{% endif %}";
const growing =
  "{% if messages[0].content == 'grow' %}{% set n = namespace(x=['a']) %}{% for i in range(40) %}{% set n.x = n.x + n.x %}{% endfor %}{% endif %}";
const source = `${loop}${growing}{{ messages[0].content }}`;
const limits = JinjaTemplate.defaultLimits;

const openWith = (ms: number) =>
  JinjaTemplate.make(source, {}, { ...limits, ms }, "{{ tools | tojson }}{{ messages[0].content }}");
const open = openWith(60_000);
const write = (template: JinjaTemplate.JinjaTemplate, content: string) =>
  template.render([{ role: "user", content }], true);

describe("a template's process", () => {
  it.live("starts again after a chat that took too long", () =>
    Effect.gen(function* () {
      const template = yield* openWith(1_000);
      expect(yield* Effect.flip(write(template, "loop"))).toBe("it takes longer than 1 s for one chat");
      expect(yield* write(template, "a")).toBe("a");
    }).pipe(Effect.scoped),
  );

  it.live("starts again after a chat that took too much memory", () =>
    Effect.gen(function* () {
      const template = yield* open;
      expect(yield* Effect.flip(write(template, "grow"))).toBe("it needs more than 128 MiB of memory for one chat");
      expect(yield* write(template, "b")).toBe("b");
    }).pipe(Effect.scoped),
  );

  it.live("starts again after a chat that nobody waits for", () =>
    Effect.gen(function* () {
      const template = yield* open;
      const waiting = yield* Effect.forkChild(write(template, "loop"));
      yield* Effect.sleep(50);
      yield* Fiber.interrupt(waiting);
      expect(yield* write(template, "a")).toBe("a");
    }).pipe(Effect.scoped),
  );

  it.live("reads every text, line separators included", () =>
    Effect.gen(function* () {
      const template = yield* open;
      for (const text of ["a\u2028b\u2029c\r\n\rd\n", "\u0085\ud83d\ude00", "x".repeat(300_000)]) {
        expect(yield* write(template, text)).toBe(text);
      }
    }).pipe(Effect.scoped),
  );

  it.live("writes chats with tools by the template for them", () =>
    Effect.gen(function* () {
      const template = yield* open;
      const tool = { type: "function", function: { name: "a", description: "b", parameters: { c: [1, 2] } } } as const;
      expect(yield* template.render([{ role: "user", content: "x" }], true, [tool])).toBe(
        '[{"type": "function", "function": {"name": "a", "description": "b", "parameters": {"c": [1, 2]}}}]x',
      );
    }).pipe(Effect.scoped),
  );
});
