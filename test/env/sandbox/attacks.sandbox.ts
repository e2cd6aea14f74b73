/** Every attack on the Python sandbox, in both of its modes: it fails as it should, harms no other test, and leaves nothing running. */
import { Effect } from "effect";
import { beforeAll, describe, expect, it } from "vitest";
import { judge } from "./attacks.ts";
import { attacks, codeOf, peaceful } from "./python/attacks.ts";
import { modes, openHarness, processes, roomy, type SandboxHarness } from "./sandbox.ts";

/** An attack that only waits is over after three times this. Processor time is measured, so a slow machine has room as well. */
const most = { ...roomy, testMs: 500 };

describe.each(modes)("in a sandbox confined by %s, an attack", (mode) => {
  let is: SandboxHarness;
  beforeAll(async () => {
    is = await openHarness(mode);
  });
  it.each(attacks.map((attack) => [attack.name, attack] as const))("fails: %s", async (_name, attack) => {
    await judge(attack, codeOf(attack), peaceful, most, (job) => Effect.runPromise(is.sandbox.run(job)));
  });

  it("leaves nothing running", async () => {
    await expect.poll(() => processes("/harness.py"), { timeout: 20_000 }).toEqual([]);
  });
});
