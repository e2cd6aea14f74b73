/** Modules that a run file names are resolved to absolute paths. */
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { Effect } from "effect";
import { describe, expect, it } from "vitest";
import { isModulePath } from "../../src/config/modulePath.ts";
import { resolve } from "../../src/config/resolve.ts";
import { resolved, withConfigs } from "./configs.ts";

const preset = (envType: string): string => `custom_envs: { Mine: { env_type: ${envType} } }`;

/** The preset's type after the run file is resolved. */
const typeIn = (dir: string, name: string): string =>
  Effect.runSync(resolve(name, [], dir)).config.custom_envs.Mine!.env_type;

describe("an env_type", () => {
  it.each(["./mine.ts", "../mine.mjs", "envs/mine", "/abs/mine.ts", "mine.js", "mine.cts", "C:\\envs\\mine.ts"])(
    "is a module's path: %s",
    (envType) => expect(isModulePath(envType)).toBe(true),
  );

  it.each(["sokoban", "frozen_lake", "game_2048", "ts"])("is an environment's name: %s", (envType) =>
    expect(isModulePath(envType)).toBe(false),
  );
});

describe("a module's path", () => {
  it("is relative to the run file that names it, wherever the run is started", () => {
    withConfigs({ run: `defaults: [base]\n${preset("./mine.ts")}` }, (dir) =>
      expect(typeIn(dir, "run")).toBe(join(dir, "mine.ts")),
    );
  });

  it("is relative to the run file for the learner's modules, too", () => {
    const modules =
      "algorithm: { custom_estimator: estimator.ts, adv_estimator: custom }\nactor: { custom_loss: ./loss.ts, policy_loss: custom }";
    withConfigs({ run: `defaults: [base]\n${modules}` }, (dir) => {
      const { actor, algorithm } = Effect.runSync(resolve("run", [], dir)).config;
      expect([algorithm.custom_estimator, actor.custom_loss]).toEqual([
        join(dir, "estimator.ts"),
        join(dir, "loss.ts"),
      ]);
    });
  });

  it("is relative to an included file that names it", () => {
    withConfigs({}, (dir) => {
      mkdirSync(join(dir, "other"));
      writeFileSync(join(dir, "other", "mine.yaml"), preset("mine.ts"));
      writeFileSync(join(dir, "run.yaml"), "defaults: [base, other/mine]");
      expect(typeIn(dir, "run")).toBe(join(dir, "other", "mine.ts"));
    });
  });

  it("stays where it is absolute", () => {
    withConfigs({ run: `defaults: [base]\n${preset("/abs/mine.ts")}` }, (dir) =>
      expect(typeIn(dir, "run")).toBe("/abs/mine.ts"),
    );
  });

  it("of an override is relative to the working directory", () => {
    const { config } = resolved("", "custom_envs.Mine.env_type=./mine.ts");
    expect(config.custom_envs.Mine!.env_type).toBe(join(process.cwd(), "mine.ts"));
  });

  it("leaves the names of the package's environments alone", () => {
    expect(resolved("").config.custom_envs.CoordSokoban!.env_type).toBe("sokoban");
  });
});
