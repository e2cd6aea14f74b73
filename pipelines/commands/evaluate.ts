/** `millrace evaluate`. */
import { Effect } from "effect";
import { commandOf, load } from "./Command.ts";
import { agentFlag, prepared, readRun, runFlags, withAgent } from "./runCommands.ts";

export const evaluate = commandOf({
  name: "evaluate",
  usage: "evaluate --config-name NAME [--agent AGENT] [key.sub=value ...]",
  meaning: "Plays the validation by a checkpoint or a chat endpoint; writes every episode and a summary.",
  flags: {
    ...runFlags("Go on with an evaluation: what is finished is not played again; the overrides become part of it."),
    agent: agentFlag,
  },
  read: ({ agent, ...flags }) => readRun("evaluate", withAgent(flags, agent)),
  work: Effect.fnUntraced(function* (words) {
    const run = yield* prepared("evaluate", words);
    const { evaluate } = yield* load(() => import("../evaluate.ts"));
    yield* evaluate(run);
  }),
});
