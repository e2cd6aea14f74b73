/** Every attack on the JavaScript sandbox: it fails as it should and harms neither another test nor this process. */
import { Effect } from "effect";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { run } from "../../../../src/env/sandbox/javascript/Threads.ts";
import { judge } from "../attacks.ts";
import { attacks, codeOf, peaceful } from "./attacks.ts";

const most = { testMs: 200, totalMs: 120_000, memoryBytes: 16 * 1024 * 1024, outputBytes: 10_000 };

describe("an attack", () => {
  let before: readonly string[] = [];
  beforeAll(() => {
    before = Object.getOwnPropertyNames(Object.prototype);
  });
  afterAll(() => expect(Object.getOwnPropertyNames(Object.prototype)).toEqual(before));

  it.each(attacks.map((attack) => [attack.name, attack] as const))("fails: %s", async (_name, attack) => {
    await judge(attack, codeOf(attack), peaceful, most, (job) => Effect.runPromise(run(job)));
  });
});
