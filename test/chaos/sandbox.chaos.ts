/** A program that signals its judge, where bubblewrap and Python are installed; test:sandbox has all the others. */
import { spawnSync } from "node:child_process";
import { Effect } from "effect";
import { describe, it } from "vitest";
import { judge } from "../env/sandbox/attacks.ts";
import { attacks, codeOf, peaceful } from "../env/sandbox/python/attacks.ts";
import { modes, openHarness, roomy } from "../env/sandbox/sandbox.ts";

const present = (program: string): boolean => spawnSync(program, ["--version"]).status === 0;
const owners = attacks.filter(({ name }) => /owns a (pipe|socket)/.test(name));

describe.skipIf(!present("bwrap") || !present("python3")).each(modes)("under %s", (mode) => {
  it.each(owners.map((attack) => [attack.name, attack] as const))("%s: the judge goes on", async (_name, attack) => {
    const { sandbox } = await openHarness(mode);
    await judge(attack, codeOf(attack), peaceful, { ...roomy, testMs: 500 }, (job) =>
      Effect.runPromise(sandbox.run(job)),
    );
  });
});
