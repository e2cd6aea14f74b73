import { describe, expect, it } from "vitest";
import { fromPortable, toPortable } from "../../../src/model/runtime/PortableError.ts";

const across = (thrown: unknown): Error => fromPortable(structuredClone(toPortable(thrown)));

describe("an error across a port", () => {
  it("keeps its name, code, message and stack", () => {
    const error = Object.assign(new TypeError("no such layer"), { code: "ERR_LAYER" });
    const { code, message, name, stack } = Object.assign({ code: "" }, toPortable(error));
    expect({ code, message, name, stack }).toEqual({
      code: "ERR_LAYER",
      message: "no such layer",
      name: "TypeError",
      stack: error.stack,
    });
    expect(across(error)).toMatchObject({ code, message, name, stack });
    expect(Object.keys(across(error))).toEqual([]);
  });

  it("keeps causes in their order", () => {
    const error = new Error("outer", { cause: new RangeError("middle", { cause: "thrown text" }) });
    const read = across(error);
    expect(read.cause).toMatchObject({ name: "RangeError", message: "middle" });
    expect(read.cause).toHaveProperty("cause.message", "thrown text");
  });

  it("takes what is no error, and a circle of causes", () => {
    expect(across(7).message).toBe("7");
    const circle = new Error("again");
    circle.cause = circle;
    expect(across(circle).message).toBe("again");
  });
});
