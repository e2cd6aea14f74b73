/** The package's folder and its public modules, from the sources. */
import { pathToFileURL } from "node:url";
import { describe, expect, it } from "vitest";
import { packageRoot, publicModule, version } from "../../src/files/packageRoot.ts";

describe("the package", () => {
  it("lies where its package.json is, and has its version", () => {
    expect(pathToFileURL(`${packageRoot}/`).href).toBe(new URL("../../", import.meta.url).href);
    expect(version).toMatch(/^\d+\.\d+\.\d+$/);
  });

  it("makes the source of a public name known, where the sources run", () => {
    const url = publicModule("millrace/env");
    expect(url).toBe(new URL("../../src/env/author.ts", import.meta.url).href);
  });

  it.each([".", "effect", "millrace/nothing", "millraces"])("knows no public module %j", (name) => {
    expect(publicModule(name)).toBeNull();
  });
});
