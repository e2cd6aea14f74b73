import { mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, it } from "@effect/vitest";
import { Effect } from "effect";
import { expect } from "vitest";
import * as Fallback from "../../../src/support/files/Fallback.ts";
import { damaged, fileError } from "../../../src/support/files/FileError.ts";
import type { Candidate } from "../../../src/support/files/StepFolders.ts";
import { temporaryFolder } from "../../temporaryFolder.ts";
import { collected } from "../../warnings.ts";
import { treeOf } from "./tree.ts";

/** Folders by name with the text of their one file. */
const planted = Effect.fnUntraced(function* (folders: Readonly<Record<string, string>>) {
  const root = yield* temporaryFolder;
  for (const [name, text] of Object.entries(folders)) {
    mkdirSync(join(root, name));
    writeFileSync(join(root, name, "file"), text);
  }
  return root;
});
/** Takes what does not say that it is bad. */
const load = ({ path }: Candidate) =>
  Effect.suspend(() => {
    const text = readFileSync(join(path, "file"), "utf8");
    return text === "bad" ? Effect.fail(damaged(path, `${path}: bad`)) : Effect.succeed(text);
  });
const contents = (root: string) =>
  Object.fromEntries(readdirSync(root).map((name) => [name, readFileSync(join(root, name, "file"), "utf8")]));

/** The folders before and after: each state that a kill can leave, and damage. */
const cases: readonly {
  readonly name: string;
  readonly before: Readonly<Record<string, string>>;
  readonly loaded: string;
  readonly after: Readonly<Record<string, string>>;
}[] = [
  {
    name: "the newest, by number",
    before: { "step-9": "nine", "step-10": "ten" },
    loaded: "ten",
    after: { "step-9": "nine", "step-10": "ten" },
  },
  {
    name: "a half-written one beside it",
    before: { "step-1": "one", "step-2.partial": "half" },
    loaded: "one",
    after: { "step-1": "one" },
  },
  {
    name: "killed between the two renames",
    before: { "step-1": "one", "step-2.partial": "new", "step-2.replaced": "old" },
    loaded: "old",
    after: { "step-1": "one", "step-2": "old" },
  },
  {
    name: "killed before the old one was removed",
    before: { "step-2": "new", "step-2.replaced": "old" },
    loaded: "new",
    after: { "step-2": "new" },
  },
  {
    name: "a damaged one whose predecessor is there still",
    before: { "step-2": "bad", "step-2.replaced": "old" },
    loaded: "old",
    after: { "step-2": "old", "step-2.damaged": "bad" },
  },
  {
    name: "two damaged ones before a good one, an earlier one set aside",
    before: { "step-2": "two", "step-3": "bad", "step-4": "bad", "step-4.damaged": "earlier" },
    loaded: "two",
    after: { "step-2": "two", "step-3.damaged": "bad", "step-4.damaged": "bad" },
  },
  {
    name: "an older one that was moved aside",
    before: { "step-1.replaced": "one", "step-2": "two" },
    loaded: "two",
    after: { "step-1": "one", "step-2": "two" },
  },
  {
    name: "what has other names",
    before: { "step-2": "two", "step-03": "x", "step-": "x", other: "x", "step-7.damaged": "x" },
    loaded: "two",
    after: { "step-2": "two", "step-03": "x", "step-": "x", other: "x", "step-7.damaged": "x" },
  },
];

describe("the newest folder that loads", () => {
  it.effect.each(cases)("$name: is found without a change on disk, and then made the newest", (given) =>
    Effect.gen(function* () {
      const root = yield* planted(given.before);
      const before = treeOf(root);
      const { layer } = collected();
      const found = yield* Effect.provide(Fallback.loadNewest(root, load), layer);
      expect(found?.loaded).toBe(given.loaded);
      expect(treeOf(root)).toEqual(before);
      yield* found!.cleanUp;
      expect(contents(root)).toEqual(given.after);
    }),
  );

  it.effect("names those that did not load and the one that did in one line; says nothing of a good one", () =>
    Effect.gen(function* () {
      const root = yield* planted({ "step-2": "two", "step-3": "bad", "step-4": "bad" });
      const { layer, lines } = collected();
      yield* Effect.provide(Fallback.loadNewest(root, load), layer);
      const at = (step: number) => join(root, `step-${step}`);
      expect(lines).toEqual([`${at(4)}: bad; ${at(3)}: bad; going on from ${at(2)} instead`]);
      const good = collected();
      yield* Effect.provide(Fallback.loadNewest(yield* planted({ "step-2": "two" }), load), good.layer);
      expect(good.lines).toEqual([]);
    }),
  );

  it.effect("is none in an empty folder; where none loads, the newest one's fault is told and nothing changed", () =>
    Effect.gen(function* () {
      expect(yield* Fallback.loadNewest(yield* planted({}), load)).toBe(null);
      const root = yield* planted({ "step-2": "bad", "step-3": "bad", "step-4.partial": "half" });
      const before = treeOf(root);
      expect((yield* Effect.flip(Fallback.loadNewest(root, load))).message).toBe(`${join(root, "step-3")}: bad`);
      expect(treeOf(root)).toEqual(before);
    }),
  );

  it.effect("is not looked for any more after a failure that is no damage", () =>
    Effect.gen(function* () {
      const root = yield* planted({ "step-2": "two", "step-3": "three" });
      const tried: string[] = [];
      const refusing = ({ path }: Candidate) =>
        Effect.andThen(
          Effect.sync(() => tried.push(path)),
          Effect.fail("no" as const),
        );
      expect(yield* Effect.flip(Fallback.loadNewest(root, refusing))).toBe("no");
      expect(tried).toEqual([join(root, "step-3")]);
    }),
  );

  it.effect.each(["EACCES", "EMFILE"])("is not another one where the system refuses to read it: %s", (code) =>
    Effect.gen(function* () {
      const root = yield* planted({ "step-2": "two", "step-3": "three" });
      const cause = Object.assign(new Error(`${code}: refused`), { code });
      const refusing = ({ path, step }: Candidate) =>
        step === 3 ? Effect.fail(fileError(path, cause)) : Effect.succeed(step);
      const error = yield* Effect.flip(Fallback.loadNewest(root, refusing));
      expect(error).toMatchObject({ path: join(root, "step-3"), reason: "refused" });
    }),
  );

  it.effect("closes what a failed load has opened, and keeps what a good one has", () =>
    Effect.gen(function* () {
      const root = yield* planted({ "step-2": "two", "step-3": "bad" });
      const closed: string[] = [];
      const opening = (candidate: Candidate) =>
        Effect.andThen(
          Effect.addFinalizer(() => Effect.sync(() => closed.push(candidate.path))),
          load(candidate),
        );
      const { layer } = collected();
      yield* Effect.scoped(
        Effect.gen(function* () {
          yield* Effect.provide(Fallback.loadNewest(root, opening), layer);
          expect(closed).toEqual([join(root, "step-3")]);
        }),
      );
      expect(closed).toEqual([join(root, "step-3"), join(root, "step-2")]);
    }),
  );
});
