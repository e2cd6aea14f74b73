/** `millrace agent check`. */
import process from "node:process";
import { Effect } from "effect";
import * as Flag from "effect/cli/Flag";
import { hasAgent } from "../../src/config/agentForms.ts";
import { agentOverrides } from "../agentOverrides.ts";
import { commandOf, load, print } from "./Command.ts";
import { prepared } from "./runCommands.ts";
import { argument, bad, configName, missing, several } from "./words.ts";

/** The agent among the words, before the overrides; null where the run file names it. */
const agentAmong = ([first = "", ...rest]: readonly string[]) =>
  first === "" || /^[\w.]+=/.test(first)
    ? { agent: null, overrides: first === "" ? rest : [first, ...rest] }
    : { agent: first, overrides: rest };

export const agent = commandOf({
  flags: {
    action: argument("check", "What to do: check."),
    words: several(
      "AGENT",
      "The agent: a module (defineAgent of millrace/agent), a command in quotes, or the address of your server; without one the run file's. Overrides key.sub=value follow.",
    ),
    configName: configName.pipe(Flag.withDefault("quickstart")),
  },
  read: ({ action, words, ...flags }, info) =>
    action === "check"
      ? Effect.succeed({ ...flags, ...agentAmong(words) })
      : bad(`agent: unknown ${JSON.stringify(action)}; nearest: check: millrace ${info.usage}`),
  work: Effect.fnUntraced(function* ({ agent, configName, overrides }, info) {
    const named = agent === null ? [] : agentOverrides(agent);
    const { config } = yield* prepared("train", {
      configName,
      envs: null,
      resume: null,
      overrides: [...named, ...overrides],
    });
    if (!hasAgent(config.agent)) return yield* bad(missing(info, "AGENT"));
    const { agentCheck } = yield* load(() => import("../agentCheck.ts"));
    const { isTrainable, lines } = yield* agentCheck(config);
    if (!isTrainable) process.exitCode = 1;
    yield* print(lines);
  }),
});
