/** Code that a run's folder names: what counts as the user's own, and what is asked before any other is run. */
import { existsSync, mkdirSync, mkdtempSync, realpathSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Effect, Result } from "effect";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { type Ask, checkTrusted, foreignCode, type Origin, projectOf } from "../../pipelines/foreignCode.ts";
import { render } from "../../src/config/render.ts";
import { tinyConfig } from "../build/tinyConfig.ts";
import { millrace } from "./process.ts";

const root = new URL("../..", import.meta.url).pathname;

let dir = "";
beforeEach(() => {
  dir = realpathSync(mkdtempSync(join(tmpdir(), "millrace-")));
  mkdirSync(join(dir, "project", "src"), { recursive: true });
  writeFileSync(join(dir, "project", "package.json"), "{}");
});
afterEach(() => rmSync(dir, { recursive: true, force: true }));

const at = (...path: readonly string[]): string => join(dir, ...path);
const project = (...path: readonly string[]): string => at("project", ...path);

const withModule = (env_type: string, env_config = {}) =>
  tinyConfig(dir, { custom_envs: { Own: { env_type, env_config } } });
const foreignIn = (env_type: string, run: string, from = project("src")) =>
  foreignCode(withModule(env_type), run, from).map(({ path }) => path);

describe("code is the user's", () => {
  it("in the folder of the nearest package.json, and nowhere else", () => {
    expect(projectOf(project("src"))).toBe(project());
    expect(foreignIn(project("envs", "own.ts"), at("run"))).toEqual([]);
    expect(foreignIn(at("evil.ts"), at("run"))).toEqual([at("evil.ts")]);
    expect(foreignIn(at("project-evil", "evil.ts"), at("run"))).toEqual([at("project-evil", "evil.ts")]);
  });

  it("not where the learner's modules lie outside the project", () => {
    const config = tinyConfig(dir, {
      algorithm: { custom_estimator: at("estimator.ts") },
      actor: { custom_loss: project("loss.ts") },
    });
    expect(foreignCode(config, at("run"), project("src"))).toEqual([
      { key: "algorithm.custom_estimator", path: at("estimator.ts") },
    ]);
  });

  it.each<[string, readonly string[], readonly string[]]>([
    ["a script of the project", ["python3", "PROJECT/agent.py", "--level", "2"], []],
    ["a script elsewhere", ["node", "/elsewhere/agent.mjs"], ["/elsewhere/agent.mjs"]],
    ["a text that an interpreter runs", ["python3", "-c", "print(1)"], ["python3"]],
    ["another program", ["bash", "agent.sh"], ["bash"]],
  ])("in an agent's command, or not: %s", (_, command, foreign) => {
    const words = command.map((word) => word.replace("PROJECT", project()));
    const config = tinyConfig(dir, { agent: { command: words } });
    expect(foreignCode(config, at("run"), project("src")).map(({ path }) => path)).toEqual(foreign);
  });

  it("not where a link leads out of the project", () => {
    writeFileSync(at("evil.ts"), "");
    symlinkSync(at("evil.ts"), project("own.ts"));
    expect(foreignIn(project("own.ts"), at("run"))).toEqual([project("own.ts")]);
  });

  it("not where it came with the run's folder into the project", () => {
    const run = project("runs", "gift", "20260101-000000");
    mkdirSync(run, { recursive: true });
    for (const evil of [join(run, "evil.ts"), project("runs", "gift", "evil.ts")]) {
      expect(foreignIn(evil, run)).toEqual([evil]);
    }
    expect(foreignIn(project("envs", "own.ts"), run)).toEqual([]);
  });

  it("where it belongs to the package, wherever one works", () => {
    const lights = join(root, "docs/examples/environment/lights.ts");
    expect(foreignIn(lights, at("run"), at())).toEqual([]);
    expect(foreignIn("frozen_lake", at("run"), at())).toEqual([]);
  });

  it("not where it is a program that an environment would start", () => {
    const python = (path: string) => foreignCode(withModule("deepcoder", { python: path }), at("run"), project());
    expect(python("python3")).toEqual([]);
    expect(python(at("evil"))).toEqual([{ key: "custom_envs.Own.env_config.python", path: at("evil") }]);
    expect(python("sh")).toHaveLength(1);
  });
});

describe("before other code is run", () => {
  const config = () => withModule(at("evil.ts"));
  const origin = { overrides: [], run: "run" };
  const outcome = async (given: Partial<Origin>, ask: Ask) => {
    const result = await Effect.runPromise(Effect.result(checkTrusted(config(), { ...origin, ...given }, ask)));
    return Result.isSuccess(result) ? "runs" : result.failure.message;
  };
  const never = () => {
    throw new Error("asked");
  };

  it("it is asked once, with what it names; anything but yes refuses it", async () => {
    const questions: string[] = [];
    const answering = (answer: boolean) => (question: string) => {
      questions.push(question);
      return Promise.resolve(answer);
    };
    expect(await outcome({}, answering(true))).toBe("runs");
    expect(await outcome({}, answering(false))).toContain("--trust runs it");
    expect(questions).toHaveLength(2);
    expect(questions[0]).toContain(`custom_envs.Own.env_type: ${JSON.stringify(at("evil.ts"))}`);
  });

  it("it is not asked where the user names it beside the folder", async () => {
    expect(await outcome({ overrides: [`custom_envs.Own.env_type=${at("evil.ts")}`] }, never)).toBe("runs");
  });
});

describe("without a terminal", () => {
  /** A stranger's run whose environment leaves a file where it is loaded. */
  const stranger = (): string => {
    const run = at("stranger");
    mkdirSync(join(run, "checkpoints"), { recursive: true });
    writeFileSync(join(run, "evil.ts"), `import { writeFileSync } from "node:fs"; writeFileSync("${at("ran")}", "");`);
    const changes = {
      es_manager: { train: { tags: ["Evil"] }, val: { tags: ["Evil"] } },
      custom_envs: { Evil: { env_type: "./evil.ts", env_config: {} } },
    };
    writeFileSync(join(run, "config.yaml"), render(tinyConfig(dir, changes)));
    return run;
  };

  it.each([
    ["train", "--resume"],
    ["evaluate", "--resume"],
    ["sft", "--resume"],
    ["train", "--config-name"],
    ["envs", "--config-name"],
  ])("%s %s of a stranger's folder runs nothing and exits with 2", (command, flag) => {
    const run = stranger();
    const named = flag === "--resume" ? run : join(run, "config.yaml");
    const { status, stderr } = millrace([command, flag, named], project());
    expect({ status, stderr: stderr.trimEnd() }).toEqual({
      status: 2,
      stderr: `${join(run, "config.yaml")} names code outside your project: custom_envs.Evil.env_type ${JSON.stringify(join(run, "evil.ts"))}; --trust runs it`,
    });
    expect(existsSync(at("ran"))).toBe(false);
  });

  it("--trust runs it", () => {
    millrace(["envs", "--config-name", join(stranger(), "config.yaml"), "--trust"], project());
    expect(existsSync(at("ran"))).toBe(true);
  });
});
