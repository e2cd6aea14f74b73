/** Code of docs/agents.md held to files that `tsc` checks and other tests run. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { packageRoot } from "../../src/support/files/packageRoot.ts";

const textOf = (file: string): string => readFileSync(join(packageRoot, file), "utf8");
const blocks = [...textOf("docs/agents.md").matchAll(/```ts\n([\s\S]*?)\n```/g)].map(([, code = ""]) => code);

it("shows the lift as its file has it, but for the comment at its head", () => {
  const code = textOf("docs/examples/agents/lift.ts").replace(/^\/\*\*[\s\S]*?\*\/\n/, "");
  expect(blocks[0]).toBe(code.trimEnd());
});

it("mounts an agent in a server as test/types/agents.ts does", () => {
  const mounted = /rolloutHandler\(\w+, (\{[^}]*\})\)/;
  const [shown, checked] = [blocks[1] ?? "", textOf("test/types/agents.ts")].map((code) =>
    mounted.exec(code)?.[1]?.replace(/\s+/g, " ").replace(", }", " }"),
  );
  expect(shown).toMatch(/token/);
  expect(checked).toBe(shown);
});
