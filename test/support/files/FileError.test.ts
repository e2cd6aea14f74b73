import { describe, expect, it } from "vitest";
import { fileError, isFullDisk } from "../../../src/support/files/FileError.ts";

const noRoom = Object.assign(new Error("ENOSPC: no space left on device, open 'x'"), { code: "ENOSPC" });

describe("a full disk", () => {
  it("is said in a sentence that names the path", () => {
    const path = import.meta.filename;
    expect(fileError(path, noRoom)).toMatchObject({ reason: "refused", message: `${path}: the disk is full (ENOSPC)` });
  });

  it("is found behind other errors, as a used-up quota is", () => {
    const quota = Object.assign(new Error("EDQUOT: write"), { code: "EDQUOT" });
    expect(fileError("/x/y", quota).message).toBe("/x/y: the disk quota is used up (EDQUOT)");
    expect(
      [noRoom, new Error("save", { cause: fileError("/x/y", quota) }), new Error("save"), null].map(isFullDisk),
    ).toEqual([true, true, false, false]);
  });

  it("is said where the folder of the path is gone, too", () => {
    expect(fileError("/nowhere/at/all", noRoom).message).toBe("/nowhere/at/all: the disk is full (ENOSPC)");
  });
});
