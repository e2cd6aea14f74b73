/** What is held against instances, without threads. */
import { describe, expect, it } from "vitest";
import type { Request } from "../../../src/env/contract/Request.ts";
import { Docket } from "../../../src/env/pool/Docket.ts";

const stepOf = (instance?: string, tag = "Count"): Request => ({
  _tag: "Step",
  step: {
    tag,
    state: null,
    actions: [],
    noise: { seed: 0, purpose: "noise", counters: [] },
    ...(instance === undefined ? {} : { instance }),
  },
});

const offended = (docket: Docket, request: Request, times: number): void => {
  for (let n = 0; n < times; n++) {
    docket.suspect(request);
    docket.judge(request, "guilty");
  }
};

describe("the docket", () => {
  it("quarantines an instance after its second offence, and no other instance or preset", () => {
    const docket = new Docket(2);
    offended(docket, stepOf("a"), 1);
    expect(docket.status(stepOf("a"))._tag).toBe("Free");
    offended(docket, stepOf("a"), 1);
    expect(docket.status(stepOf("a"))).toEqual({ _tag: "Quarantined", offences: 2 });
    expect([stepOf("b"), stepOf("a", "Other"), stepOf()].map((step) => docket.status(step)._tag)).toEqual(
      Array(3).fill("Free"),
    );
    expect(docket.quarantined()).toBe(1);
  });

  it("holds an instance while its suspects could be enough, until one of them is judged", () => {
    const docket = new Docket(2);
    docket.suspect(stepOf("a"));
    expect(docket.status(stepOf("a"))._tag).toBe("Free");
    docket.suspect(stepOf("a"));
    expect(docket.status(stepOf("a"))._tag).toBe("Held");
    docket.judge(stepOf("a"), "innocent");
    expect(docket.status(stepOf("a"))._tag).toBe("Free");
    docket.judge(stepOf("a"), "guilty");
    docket.suspect(stepOf("a"));
    expect(docket.status(stepOf("a"))._tag).toBe("Held");
    docket.judge(stepOf("a"), "guilty");
    expect(docket.status(stepOf("a"))._tag).toBe("Quarantined");
  });

  it("holds nothing against anyone without a limit, nor against steps that name no instance", () => {
    const lenient = new Docket(0);
    offended(lenient, stepOf("a"), 5);
    expect(lenient.status(stepOf("a"))._tag).toBe("Free");
    const docket = new Docket(1);
    offended(docket, stepOf(), 5);
    expect(docket.status(stepOf())._tag).toBe("Free");
  });

  it("forgets the instances that were judged first, so that it does not grow without an end", () => {
    const docket = new Docket(1);
    for (let n = 0; n <= 10_000; n++) offended(docket, stepOf(`${n}`), 1);
    expect([0, 1, 10_000].map((n) => docket.status(stepOf(`${n}`))._tag)).toEqual([
      "Free",
      "Quarantined",
      "Quarantined",
    ]);
  });
});
