import { describe, expect, it } from "vitest";
import {
  broadcast,
  canonical,
  difference,
  product,
  quotient,
  ShapeError,
  sum,
} from "../../../src/model/tensor/Shape.ts";

describe("sizes", () => {
  it("have one spelling however they are written", () => {
    expect(canonical("time*batch")).toBe("batch*time");
    expect(canonical("1 + 2*time - time")).toBe("time+1");
    expect(canonical("3*batch*2")).toBe("6*batch");
    expect(canonical("time-time+4")).toBe(4);
    expect(canonical("time-time")).toBe(0);
  });

  it("add, multiply and divide as polynomials", () => {
    expect(sum("time", 3, "time")).toBe("2*time+3");
    expect(difference("time", 1)).toBe("time-1");
    expect(difference("past+new", "past")).toBe("new");
    expect(product("batch", "time-1", 2)).toBe("2*batch*time-2*batch");
    expect(product()).toBe(1);
    expect(quotient("2*batch*time-2*batch", "2*batch")).toBe("time-1");
    expect(quotient("2*batch*time+6*batch", "time+3")).toBe("2*batch");
    expect(quotient("batch*time", "head")).toBeUndefined();
    expect(quotient("batch*time+3", "time+3")).toBeUndefined();
    expect(quotient(7, 2)).toBeUndefined();
  });

  it("refuse what is no size", () => {
    expect(() => canonical("2.5*batch")).toThrow(ShapeError);
  });
});

describe("broadcast", () => {
  it("stretches sizes of 1 and missing leading axes", () => {
    expect(
      broadcast("add", [
        ["batch", 1, 4],
        ["time", 1],
      ]),
    ).toEqual(["batch", "time", 4]);
  });

  it("refuses different sizes with the operation and the shapes", () => {
    expect(() =>
      broadcast("add", [
        ["batch", 3],
        ["time", 3],
      ]),
    ).toThrow("add([batch, 3], [time, 3]): sizes batch and time do not broadcast");
  });
});
