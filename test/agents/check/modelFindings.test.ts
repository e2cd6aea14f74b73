import { it } from "@effect/vitest";
import { Effect } from "effect";
import { expect } from "vitest";
import type { CheckedEpisode } from "../../../src/agents/check/findings.ts";
import { rescoringFindings, templateFindings } from "../../../src/agents/check/modelFindings.ts";
import { CallTree } from "../../../src/agents/tree/CallTree.ts";
import type { Conversation, Message } from "../../../src/domain/Conversation.ts";
import { episodeOf } from "../../build/episodes.ts";
import { sampled } from "../../rollout/fakes.ts";
import { family } from "../../rollout/tools/playing.ts";

const prompt = Int32Array.of(1);
const answer: Message = { role: "assistant", text: "b", calls: [] };
const opening: readonly Message[] = [{ role: "user", text: "a" }];

/** An episode of two calls, by a template that rewrites where `isRewriting`. */
const episodeBy = (isRewriting: boolean): CheckedEpisode => {
  const tree = new CallTree();
  const add = (conversation: Conversation) =>
    tree.add(
      tree.place(conversation, () => isRewriting),
      { prompt, sampled: sampled("b"), reply: answer, problems: [] },
    );
  add({ messages: opening, tools: [] });
  add({ messages: [...opening, answer, { role: "user", text: "c" }], tools: [] });
  return { episode: episodeOf(0, 0), limit: null, roots: tree.roots, ignoredWishes: [] };
};

it.effect("finds that Qwen3's template is not append-only: a note, and a warning once a call began anew by it", () =>
  Effect.scoped(
    Effect.gen(function* () {
      const { conversation } = yield* family("qwen3");
      const found = [false, true].flatMap((isRewriting) =>
        templateFindings((added) => conversation.rewriting(added, "<think>"), [episodeBy(isRewriting)]),
      );
      expect(found.map(({ grade }) => grade)).toEqual(["note", "warning"]);
      expect(found[0]?.sentence).toBe(
        "the chat template is not append-only (once a user's message follows, the chat template leaves out the thoughts of earlier replies): each such call begins anew and costs the prefill of its whole history",
      );
    }),
  ),
);

it("finds nothing in a template that is append-only", () => {
  expect(templateFindings(() => undefined, [episodeBy(false)])).toEqual([]);
});

it("names what only a user's message behind results changes", () => {
  const rewriting = (added: readonly Message[]) => (added.length > 1 ? "it drops results" : undefined);
  expect(templateFindings(rewriting, [])).toMatchObject([{ sentence: expect.stringContaining("(it drops results)") }]);
});

it.each([
  [1e-5, true, "note"],
  [1e-3, true, "fatal"],
  [Number.NaN, true, "fatal"],
  [1e-3, false, "note"],
] as const)("grades log-probabilities that differ by %d, exact: %s, as %s", (difference, isExact, grade) => {
  expect(rescoringFindings({ difference, isExact })).toMatchObject([{ grade }]);
});
