/** `millrace trace`. */
import { Effect } from "effect";
import * as Flag from "effect/cli/Flag";
import { load as loadFile } from "../../src/config/resolve.ts";
import { required, text } from "../flags.ts";
import { configDir } from "../paths.ts";
import { commandOf, load, print } from "./Command.ts";
import { checkTag, envs, overrides, presetsFile, tag } from "./words.ts";

const actions = text(
  "actions",
  "LIST",
  "Actions separated by ||; given again, those of the next reply. Where an answer is one action, all of it.",
);

export const trace = commandOf({
  flags: {
    tag,
    overrides,
    seed: required("seed", { min: 0, max: 999_999_999, fallback: 0 }, "Seed of the instance."),
    actions: Flag.atLeast(actions, 1),
    configName: presetsFile,
    envs,
  },
  read: (words, info) => Effect.as(checkTag(info, words.tag), words),
  work: Effect.fnUntraced(function* ({ configName, envs, overrides, ...options }) {
    const { trace } = yield* load(() => import("../trace.ts"));
    const config = yield* loadFile(configName, overrides, configDir, envs);
    yield* print(yield* trace({ ...options, config }));
  }),
});
