import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { SpanRows } from "../../../../src/observe/sinks/trace/SpanRows.ts";
import { assertProperty } from "../../../property.ts";

/** Begins and ends in any order; an end is of one of the open spans. */
const steps = fc.array(fc.oneof(fc.constant("begin" as const), fc.nat()), { maxLength: 300 });

describe("lanes", () => {
  it("give each open span one of its own, and never more than were open at once", () => {
    assertProperty(
      fc.property(steps, (all) => {
        const lanes = new SpanRows();
        const open: number[] = [];
        let most = 0;
        for (const step of all) {
          if (step === "begin") {
            const lane = lanes.take();
            expect(open).not.toContain(lane);
            open.push(lane);
          } else if (open.length > 0) {
            lanes.release(open.splice(step % open.length, 1)[0]!);
          }
          most = Math.max(most, open.length);
          expect(lanes.count).toBe(most);
        }
      }),
    );
  });

  it("are taken from the lowest free one on", () => {
    const lanes = new SpanRows();
    expect([lanes.take(), lanes.take(), lanes.take()]).toEqual([0, 1, 2]);
    lanes.release(1);
    lanes.release(0);
    expect([lanes.take(), lanes.take(), lanes.take()]).toEqual([0, 1, 3]);
  });
});
