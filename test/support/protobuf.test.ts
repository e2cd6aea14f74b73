/** Protobuf messages, field by field: what is left out, what is passed over, and what is no message. */
import { describe, expect, it } from "vitest";
import * as Protobuf from "../../src/support/protobuf.ts";

describe("a protobuf message", () => {
  it("leaves out a default, and no element", () => {
    const bytes = Protobuf.encoded((writer) => {
      Protobuf.text(writer, 1, "");
      Protobuf.integer(writer, 2, 0);
      Protobuf.flag(writer, 3, false);
      Protobuf.textElement(writer, 4, "");
      Protobuf.integerElement(writer, 5, 0);
    });
    expect([...bytes]).toEqual([0x22, 0, 0x28, 0]);
  });

  const bytes = Protobuf.encoded((writer) => {
    Protobuf.double(writer, 9, 1);
    Protobuf.message(writer, 1, (inner) => {
      Protobuf.text(inner, 7, "unknown");
      Protobuf.text(inner, 1, "name");
    });
  });
  const nameIn = (body: Uint8Array): string => {
    let name = "";
    Protobuf.readFields(body, {
      1: (reader) =>
        Protobuf.readMessage(reader, {
          1: (inner) => {
            name = inner.string();
          },
        }),
    });
    return name;
  };

  it("is read by the fields that are known", () => {
    expect(nameIn(bytes)).toBe("name");
  });

  it("that is cut off throws", () => {
    expect(() => nameIn(bytes.subarray(0, -1))).toThrow();
  });
});
