/** A start loads little: the list of commands is text alone, and the threads of a run load what they compute with. */
import { execFile } from "node:child_process";
import { promisify } from "node:util";
import { describe, expect, it } from "vitest";

const root = new URL("../../", import.meta.url);

/** Packages and rooms that an entry imports before it does anything, by the URLs of its modules. */
const program = `
import { registerHooks } from "node:module";
const urls = [];
registerHooks({ load: (url, context, next) => (urls.push(url), next(url, context)) });
process.on("exit", () => process.stderr.write(JSON.stringify(urls)));
await import(process.argv[1]).catch(() => {});
`;

const loadedBy = async (entry: string, ...words: readonly string[]): Promise<readonly string[]> => {
  const { stderr } = await promisify(execFile)(process.execPath, [
    "--input-type=module",
    "--eval",
    program,
    new URL(entry, root).href,
    ...words,
  ]);
  const urls: readonly string[] = JSON.parse(stderr);
  return urls.map((url) => url.replace(root.href, ""));
};

const packagesIn = (urls: readonly string[]): readonly string[] => [
  ...new Set(urls.flatMap((url) => /^node_modules\/((?:@[^/]+\/)?[^/]+)/.exec(url)?.[1] ?? [])),
];

describe("a start", () => {
  it("prints the list of commands without a package", async () => {
    expect(packagesIn(await loadedBy("pipelines/cli.ts"))).toEqual([]);
  });

  it.each(["src/generation/worker.ts", "src/learner/lanes/worker.ts"])(
    "of the thread %s loads nothing of effect, and no run file",
    async (entry) => {
      const urls = await loadedBy(entry);
      expect(packagesIn(urls)).not.toContain("effect");
      expect(urls.filter((url) => url.startsWith("src/config/"))).toEqual([]);
    },
  );

  it("of the learner's thread loads a part of effect, and no code of checkpoints", async () => {
    const urls = await loadedBy("src/learner/worker.ts");
    expect(urls.filter((url) => url.endsWith("effect/dist/index.js"))).toEqual([]);
    expect(urls.filter((url) => url.startsWith("src/model/checkpoint/"))).toEqual([]);
  });
});
