/** `millrace env validate`. */
import process from "node:process";
import { Effect } from "effect";
import { load as loadFile } from "../../src/config/resolve.ts";
import { configDir } from "../paths.ts";
import { commandOf, load, print } from "./Command.ts";
import { argument, bad, checkTag, envs, overrides, presetsFile, switchOf, tag } from "./words.ts";

export const env = commandOf({
  flags: {
    action: argument("validate", "What to do: validate."),
    tag,
    overrides,
    configName: presetsFile,
    envs,
    json: switchOf("json", "Print the findings as JSON."),
  },
  read: ({ action, ...words }, info) =>
    action === "validate"
      ? Effect.as(checkTag(info, words.tag), words)
      : bad(`env: unknown ${JSON.stringify(action)}; nearest: validate: millrace env validate TAG`),
  work: Effect.fnUntraced(function* ({ configName, envs, json, overrides, tag }) {
    const { validateEnv } = yield* load(() => import("../validateEnv.ts"));
    const config = yield* loadFile(configName, overrides, configDir, envs);
    const { isKept, lines } = yield* validateEnv({ config, json, tag, width: process.stdout.columns ?? 120 });
    if (!isKept) process.exitCode = 1;
    yield* print(lines);
  }),
});
