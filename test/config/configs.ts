/** Run files written for one test: a folder with the given YAML texts, removed afterwards, and the results of resolving in it. */
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Effect, Result } from "effect";
import { type Resolution, resolve } from "../../src/config/resolve.ts";

/** Presets and a run of CoordSokoban at RAGEN's values; every text given may add to them or replace them. */
const standard = {
  envs: `
custom_envs:
  CoordSokoban: { env_type: sokoban }
  SimpleSokoban: { env_type: sokoban }
  FrozenLake: { env_type: frozen_lake, env_config: { success_rate: 0.8, p: 0.9 } }
  Bandit: { env_type: bandit }
  BanditTest: { env_type: bandit }
`,
  base: "defaults: [envs]",
};

export const withConfigs = <A>(texts: Readonly<Record<string, string>>, use: (dir: string) => A): A => {
  const dir = mkdtempSync(join(tmpdir(), "millrace-config-"));
  try {
    for (const [name, text] of Object.entries({ ...standard, ...texts })) {
      writeFileSync(join(dir, `${name}.yaml`), text);
    }
    return use(dir);
  } finally {
    rmSync(dir, { recursive: true });
  }
};

export const resolving = (texts: Readonly<Record<string, string>>, name: string, overrides: readonly string[]) =>
  withConfigs(texts, (dir) => Effect.runSync(Effect.result(resolve(name, overrides, dir))));

/** Resolves a run file with the given text over `base`, under overrides. */
export const resolved = (text: string, ...overrides: readonly string[]): Resolution =>
  Result.getOrThrow(resolving({ run: `defaults: [base]\n${text}` }, "run", overrides));

/** The message of the failure. */
export const refused = (text: string, ...overrides: readonly string[]): string => {
  const result = resolving({ run: `defaults: [base]\n${text}` }, "run", overrides);
  return Result.isFailure(result) ? result.failure.message : "accepted";
};
