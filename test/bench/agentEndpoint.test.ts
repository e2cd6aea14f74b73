/** The bench of the agents' endpoint: every call is answered and counted, and a prompt by the tree costs a small part of the whole. */
import { expect, it } from "vitest";
import { type Effort, measureCalls, measureLag, measurePrompts } from "../../bench/agent-endpoint.ts";

const least: Effort = { conversations: 4, lanes: 2, steadyCalls: 10, perSecond: 100, promptMs: 10 };

it("measures calls alone, at once and by a rate", async () => {
  const figures = [...(await measureCalls(least)), ...(await measureLag(least))];
  expect(figures.map(({ name }) => name.split(":")[0])).toEqual([
    ...Array(7).fill("alone"),
    ...Array(7).fill("2 at once"),
    ...Array(5).fill("100 calls a second"),
  ]);
  expect(figures.every(({ value }) => Number.isFinite(value) && value >= 0)).toBe(true);
  const steady = figures.find(({ note }) => note !== undefined);
  expect(steady?.note).toMatch(/^10 calls at/);
});

it("measures prompts early and late", async () => {
  const figures = await measurePrompts(least);
  const figureNamed = (name: string): number => figures.find((figure) => figure.name === name)?.value ?? Number.NaN;
  for (const template of ["ChatML", "SmolLM2's template"]) {
    const tree = figureNamed(`${template}, turn 128: prompt by the tree`);
    expect(tree).toBeGreaterThan(0);
    expect(figureNamed(`${template}, turn 128: the whole again`)).toBeGreaterThan(4 * tree);
  }
  expect(figures).toHaveLength(3 * 8);
});
