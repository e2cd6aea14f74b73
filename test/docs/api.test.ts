/** docs/api.md held to what it is made from: the docstrings and types of the package's exports. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { packageRoot } from "../../src/support/files/packageRoot.ts";
import { apiPage } from "../generators/api/page.ts";

const page = readFileSync(join(packageRoot, "docs/api.md"), "utf8");

it("is what the sources say", () => {
  const isCurrent = page === apiPage();
  expect(isCurrent, "docs/api.md is not current: run `npm run api`, and commit what it writes").toBe(true);
});

it("links to headings that it has", () => {
  const slugs = [...page.matchAll(/^#+ (.*)$/gm)].map(([, title = ""]) =>
    title
      .toLowerCase()
      .replace(/[^\w\- ]/g, "")
      .replaceAll(" ", "-"),
  );
  const anchors = new Set(
    slugs.map((slug, index) => {
      const before = slugs.slice(0, index).filter((other) => other === slug).length;
      return before === 0 ? slug : `${slug}-${before}`;
    }),
  );
  const links = [...page.matchAll(/\]\(#([^)]+)\)/g)].map(([, anchor = ""]) => anchor);
  expect(links.length).toBeGreaterThan(50);
  expect(links.filter((anchor) => !anchors.has(anchor))).toEqual([]);
});

it("has no blank descriptions", () => {
  expect(page.split("\n").filter((line) => /^\| [^|]+ \|\s*\|/.test(line))).toEqual([]);
});
