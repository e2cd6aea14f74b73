import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import {
  emptyTrace,
  extendTrace,
  type FeedForm,
  type FeedTrace,
  spanAt,
  tracedLength,
  truncateTrace,
} from "../../src/generation/FeedTrace.ts";
import { assertProperty } from "../property.ts";

const event = fc.oneof(
  fc.record({ form: fc.constantFrom<FeedForm>("prefix", "chunk", "step"), count: fc.integer({ min: 1, max: 9 }) }),
  fc.record({ keep: fc.nat(30) }),
);

describe("FeedTrace", () => {
  it("knows the form of every token that came, whatever was cut off in between", () => {
    assertProperty(
      fc.property(fc.array(event, { maxLength: 30 }), (events) => {
        let trace: FeedTrace = emptyTrace;
        let forms: FeedForm[] = [];
        for (const given of events)
          if ("form" in given) {
            const count = given.form === "step" ? 1 : given.count;
            trace = extendTrace(trace, given.form, forms.length + count);
            forms.push(...new Array<FeedForm>(count).fill(given.form));
          } else {
            trace = truncateTrace(trace, given.keep);
            forms = forms.slice(0, given.keep);
          }
        expect(tracedLength(trace)).toBe(forms.length);
        expect(forms.map((_, position) => spanAt(trace, position)?.form)).toEqual(forms);
        expect(spanAt(trace, forms.length)).toBeUndefined();
      }),
    );
  });

  it("keeps chunks apart and neighbouring steps together", () => {
    let trace: FeedTrace = emptyTrace;
    for (const [form, end] of [
      ["prefix", 4],
      ["chunk", 6],
      ["chunk", 9],
      ["step", 10],
      ["step", 11],
    ] as const)
      trace = extendTrace(trace, form, end);
    expect(trace).toEqual([
      { form: "prefix", end: 4 },
      { form: "chunk", end: 6 },
      { form: "chunk", end: 9 },
      { form: "step", end: 11 },
    ]);
  });

  it("is not changed by tokens that are fed again", () => {
    const trace = extendTrace(extendTrace(emptyTrace, "chunk", 5), "step", 6);
    expect(extendTrace(trace, "chunk", 6)).toBe(trace);
    expect(extendTrace(trace, "chunk", 9)).toEqual([...trace, { form: "chunk", end: 9 }]);
  });
});
