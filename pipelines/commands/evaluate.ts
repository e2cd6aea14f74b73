/** `millrace evaluate`. */
import { Effect } from "effect";
import { commandOf, load } from "./Command.ts";
import { agentFlag, prepared, readRun, runFlags, withAgent } from "./runCommands.ts";

export const evaluate = commandOf({
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
