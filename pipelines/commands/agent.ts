/** `millrace agent check`. */
import process from "node:process";
import { Effect } from "effect";
import * as Flag from "effect/cli/Flag";
import { agentOverrides } from "../agentOverrides.ts";
import { commandOf, load, print } from "./Command.ts";
import { prepared } from "./runCommands.ts";
import { argument, bad, configName, missing, overrides } from "./words.ts";

const info = {
  name: "agent",
  usage: "agent check MODULE [--config-name NAME] [key.sub=value ...]",
  meaning: "Plays two episodes of an agent of your own, and says whether it can be trained.",
};

export const agent = commandOf({
  ...info,
  flags: {
    action: argument("check", "What to do: check."),
    module: argument("MODULE", "Module of the agent (defineAgent of millrace/agent)."),
    overrides,
    configName: configName.pipe(Flag.withDefault("quickstart")),
  },
  read: ({ action, ...words }) => {
    if (action !== "check")
      return bad(`agent: unknown ${JSON.stringify(action)}; nearest: check: millrace ${info.usage}`);
    return words.module.includes("=") ? bad(missing(info, "MODULE")) : Effect.succeed(words);
  },
  work: Effect.fnUntraced(function* ({ configName, module, overrides }) {
    const words = { configName, envs: null, resume: null, overrides: [...agentOverrides(module), ...overrides] };
    const { config } = yield* prepared("train", words);
    const { agentCheck } = yield* load(() => import("../agentCheck.ts"));
    const { isTrainable, lines } = yield* agentCheck(config);
    if (!isTrainable) process.exitCode = 1;
    yield* print(lines);
  }),
});
