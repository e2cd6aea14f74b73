/** Environments of one's own from outside, in a folder that has nothing to do with the package. Each start costs about half a second. */
import { copyFileSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, it } from "vitest";
import { millrace } from "./process.ts";

const root = new URL("../..", import.meta.url).pathname;
const folder = mkdtempSync(join(tmpdir(), "own-"));
afterAll(() => rmSync(folder, { recursive: true }));

for (const file of ["lights.ts", "lights.yaml"])
  copyFileSync(join(root, "docs/examples/environment", file), join(folder, file));

describe("an environment of one's own", () => {
  it("is played by what the package knows under its own names, nothing installed beside it", () => {
    const run = join(folder, "lights.yaml");
    const { status, stderr, stdout } = millrace([
      "trace",
      "Lights",
      "--config-name",
      run,
      "--seed",
      "1",
      "--actions",
      "2",
    ]);
    expect({ status, stderr }).toEqual({ status: 0, stderr: "" });
    const [start, after] = stdout
      .trimEnd()
      .split("\n")
      .map((line) => JSON.parse(line));
    expect(start.observation).toMatch(/^Lamps 1 to 6: [01]/);
    expect(after).toMatchObject({ t: 1, info: { action_is_effective: true } });
  });

  it("is listed with its keys", () => {
    const { status, stdout } = millrace(["envs", "--config-name", join(folder, "lights.yaml")]);
    expect(status).toBe(0);
    expect(stdout).toMatch(/^Lights +\S*lights\.ts +12 +yes +lamps=6$/m);
    expect(stdout).toMatch(/^\S*lights\.ts +lamps +9 +Lamps in the row\. \(an integer from 2 to 9\)$/m);
  });

  it("is told what to do where its package reads it as CommonJS", () => {
    const packaged = join(folder, "commonjs");
    mkdirSync(packaged);
    writeFileSync(join(packaged, "package.json"), '{ "type": "commonjs" }');
    copyFileSync(join(folder, "lights.ts"), join(packaged, "lights.ts"));
    copyFileSync(join(folder, "lights.yaml"), join(packaged, "lights.yaml"));
    const { status, stderr } = millrace(["config", "--config-name", join(packaged, "lights.yaml")]);
    expect(status).toBe(2);
    expect(stderr).toContain("run npm pkg set type=module in its package, or name the file lights.mts");
  });

  it("is bad input where it cannot be used, each preset under its full key", () => {
    const modules: Readonly<Record<string, string>> = {
      "bare.ts": "export const lights = {};",
      "partial.ts": 'import lights from "./lights.ts"; export default { ...lights, step: undefined };',
      "throws.ts": 'throw new Error("no board today");',
      "syntax.ts": "export default {\n  type: ,\n};",
    };
    for (const [name, text] of Object.entries(modules)) writeFileSync(join(folder, name), text);
    const files = ["light.ts", ...Object.keys(modules), "lights.ts"];
    const tags = files.map((_, at) => `E${at}`);
    const run = [
      "defaults: [base]",
      `es_manager: { val: { env_groups: ${files.length}, tags: [${tags}] } }`,
      "custom_envs:",
      ...files.map((file, at) => `  E${at}: { env_type: ${file}, env_config: { lamps: 40 } }`),
    ];
    writeFileSync(join(folder, "broken.yaml"), run.join("\n"));
    const { status, stderr, stdout } = millrace(["evaluate", "--config-name", join(folder, "broken.yaml")]);
    expect({ status, stdout }).toEqual({ status: 2, stdout: "" });
    const at = (index: number) => `custom_envs.E${index}.env_type: "${join(folder, files[index]!)}": `;
    expect(stderr.trimEnd().split("\n")).toEqual([
      `${at(0)}no such file; nearest: ${join(folder, "lights.ts")}`,
      `${at(1)}no default export (it exports lights); write \`export default\` before the environment`,
      `${at(2)}the default export is no environment: step is missing (a function)`,
      `${at(3)}the module cannot be loaded: throws.ts:1: Error: no board today`,
      expect.stringMatching(
        /^custom_envs\.E4\.env_type: ".*": the module cannot be loaded: .*syntax\.ts:2: SyntaxError/,
      ),
      "custom_envs.E5.env_config.lamps: 40: expected an integer from 2 to 9; nearest: 9",
    ]);
  });
});
