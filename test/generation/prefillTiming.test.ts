import { describe, expect, it } from "vitest";
import { PrefillTiming } from "../../src/generation/PrefillTiming.ts";

const steps = (timing: PrefillTiming, count: number, candidates: Parameters<PrefillTiming["next"]>[0]): string[] =>
  Array.from({ length: count }, () => timing.next(candidates));

describe("the next step of a generator", () => {
  it("feeds at once where nothing decodes", () => {
    const timing = new PrefillTiming({ prefillRows: 4, prefillPatience: 4 });
    expect(steps(timing, 2, { prompts: 1, decoding: 0 })).toEqual(["prefill", "prefill"]);
  });

  it("waits for as many prompts as it is told", () => {
    const timing = new PrefillTiming({ prefillRows: 2, prefillPatience: 9 });
    expect(timing.next({ prompts: 1, decoding: 3 })).toBe("decode");
    expect(timing.next({ prompts: 2, decoding: 3 })).toBe("prefill");
  });

  it("waits no longer than its patience, counted anew after each prefill", () => {
    const timing = new PrefillTiming({ prefillRows: 9, prefillPatience: 2 });
    expect(steps(timing, 6, { prompts: 1, decoding: 3 })).toEqual([
      "decode",
      "decode",
      "prefill",
      "decode",
      "decode",
      "prefill",
    ]);
  });

  it("decodes after every step that feeds, shared prefixes too", () => {
    const timing = new PrefillTiming({ prefillRows: 1, prefillPatience: 0 });
    expect(steps(timing, 4, { prefixes: 1, prompts: 1, decoding: 1 })).toEqual([
      "prefix",
      "decode",
      "prefix",
      "decode",
    ]);
    expect(steps(timing, 3, { prompts: 1, decoding: 1 })).toEqual(["prefill", "decode", "prefill"]);
  });
});
