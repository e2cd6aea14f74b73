/** `millrace envs`. */
import process from "node:process";
import { Effect } from "effect";
import { load as loadFile } from "../../src/config/resolve.ts";
import { configDir } from "../paths.ts";
import { command, load, print } from "./Command.ts";
import { envs as envsFile, overrides, presetsFile } from "./words.ts";

export const envs = command({
  flags: { configName: presetsFile, envs: envsFile, overrides },
  work: Effect.fnUntraced(function* ({ configName, envs: file, overrides }) {
    const { envs } = yield* load(() => import("../envs.ts"));
    const config = yield* loadFile(configName, overrides, configDir, file);
    yield* print(yield* envs(config, process.stdout.columns ?? 120));
  }),
});
