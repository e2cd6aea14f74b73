/** The exit code of `millrace env validate`: 0 if every check passes, 1 if one fails. */
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, it } from "vitest";
import { millrace } from "./process.ts";

const folder = mkdtempSync(join(tmpdir(), "millrace-validate-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

/** Validates an environment of one step whose reward is the expression `reward`. */
const validated = (reward: string) => {
  const path = join(folder, `env${reward.length}.mjs`);
  writeFileSync(
    path,
    `import { defineEnvironment } from "millrace/env";
export default defineEnvironment({
  type: "one",
  config: {},
  reset: (_config, random) => ({ n: random.int(1000), steps: 0 }),
  step: (_config, { n, steps }) => ({ state: { n, steps: steps + 1 }, reward: ${reward}, terminated: true, truncated: false, success: false }),
  render: (_config, { n, steps }) => \`\${n} \${steps}\`,
  actions: () => ["Up"],
});
`,
  );
  return millrace(["env", "validate", "One", "--config-name", "quickstart", `custom_envs.One.env_type=${path}`]);
};

describe("millrace env validate", () => {
  it("ends with 0 where no check fails", () => {
    const { status, stdout } = validated("0");
    expect(stdout).toMatch(/ 0 failed/);
    expect(status).toBe(0);
  });

  it("ends with 1 where a check fails", () => {
    const { status, stdout } = validated("Number.NaN");
    expect(stdout).toMatch(/ [1-9]\d* failed/);
    expect(status).toBe(1);
  });
});
