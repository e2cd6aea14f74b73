import { describe, expect, it } from "vitest";
import { fileError } from "../../../src/support/files/FileError.ts";

const noRoom = Object.assign(new Error("ENOSPC: no space left on device, open 'x'"), { code: "ENOSPC" });

describe("a full disk", () => {
  it("is said in a sentence that names the path", () => {
    const path = import.meta.filename;
    expect(fileError(path, noRoom)).toMatchObject({ reason: "refused", message: `${path}: the disk is full (ENOSPC)` });
  });

  it("is said where the folder of the path is gone, too", () => {
    expect(fileError("/nowhere/at/all", noRoom).message).toBe("/nowhere/at/all: the disk is full (ENOSPC)");
  });
});
