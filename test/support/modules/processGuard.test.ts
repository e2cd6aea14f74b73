/** A guarded process refuses the calls that would end it, and allows others. */
import { describe, expect, it } from "vitest";
import { guardProcess, isProcessEnd } from "../../../src/support/modules/processGuard.ts";

const thrown = (run: () => unknown): unknown => {
  try {
    return run();
  } catch (error) {
    return error;
  }
};

describe("a guarded process", () => {
  it("refuses to end itself and its group", () => {
    const release = guardProcess();
    try {
      const calls = [
        () => process.exit(1),
        () => process.abort(),
        () => process.kill(process.pid),
        () => process.kill(0),
      ];
      for (const call of calls) expect(isProcessEnd(thrown(call))).toBe(true);
    } finally {
      release();
    }
  });

  it("may ask whether it is alive, and signal others", () => {
    const release = guardProcess();
    try {
      expect(process.kill(process.pid, 0)).toBe(true);
      // No process has this number.
      expect(thrown(() => process.kill(2 ** 30))).toMatchObject({ code: "ESRCH" });
    } finally {
      release();
    }
  });

  it("is as it was when the last guard is gone", () => {
    const { exit, kill } = process;
    const outer = guardProcess();
    const inner = guardProcess();
    inner();
    inner();
    expect(process.exit).not.toBe(exit);
    outer();
    expect([process.exit, process.kill]).toEqual([exit, kill]);
  });
});
