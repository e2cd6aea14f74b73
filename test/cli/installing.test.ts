/** `npm ci` runs no install script of a package, under any npm, and the lock file names no registry. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { packageRoot } from "../../src/support/files/packageRoot.ts";

const read = (name: string) => readFileSync(join(packageRoot, name), "utf8");

interface Locked {
  readonly resolved?: string;
  readonly hasInstallScript?: boolean;
}
const lock: { readonly packages: Readonly<Record<string, Locked>> } = JSON.parse(read("package-lock.json"));
const packages = Object.entries(lock.packages);

/** The scripts that npm runs when it installs a package. */
const installScripts = ["preinstall", "install", "postinstall"];

const hasInstallScript = (folder: string): boolean => {
  const { scripts = {} } = JSON.parse(read(join(folder, "package.json")));
  return installScripts.some((name) => name in scripts);
};

describe("installing", () => {
  // onnxruntime-node's install script downloads CUDA libraries from NuGet.
  it("marks no package of the lock file as one with an install script, which npm before allowScripts would run", () => {
    expect(packages.filter(([, locked]) => locked.hasInstallScript).map(([folder]) => folder)).toEqual([]);
  });

  it("refuses by allowScripts every install script of a direct dependency", () => {
    const { allowScripts, dependencies, devDependencies } = JSON.parse(read("package.json"));
    const names = Object.keys({ ...dependencies, ...devDependencies });
    const scripted = names.filter((name) => hasInstallScript(join("node_modules", name)));
    expect(scripted).toContain("onnxruntime-node");
    for (const name of scripted) expect(allowScripts).toHaveProperty([name], false);
  });

  it("sets nothing in .npmrc that npm does not know", () => {
    const keys = read(".npmrc")
      .split("\n")
      .filter((line) => line !== "")
      .map((line) => line.split("=")[0]);
    expect(keys).toEqual(["omit-lockfile-registry-resolved"]);
  });

  it("names no registry in the lock file", () => {
    expect(packages.filter(([, { resolved }]) => resolved?.includes("://")).map(([folder]) => folder)).toEqual([]);
  });
});
