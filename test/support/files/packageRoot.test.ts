/** The package's folder and version, from the sources. */
import { pathToFileURL } from "node:url";
import { describe, expect, it } from "vitest";
import { packageRoot, version } from "../../../src/support/files/packageRoot.ts";

describe("the package", () => {
  it("lies where its package.json is, and has its version", () => {
    expect(pathToFileURL(`${packageRoot}/`).href).toBe(new URL("../../../", import.meta.url).href);
    expect(version).toMatch(/^\d+\.\d+\.\d+$/);
  });
});
