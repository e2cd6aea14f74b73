/** `millrace plan`. */
import { Effect } from "effect";
import { commandOf, load } from "./Command.ts";
import { configName, envs, overrides, switchOf } from "./words.ts";

export const plan = commandOf({
  flags: {
    configName,
    envs,
    overrides,
    sft: switchOf("sft", "Plan behaviour cloning (millrace sft) instead of training."),
    json: switchOf("json", "Print the plan as JSON."),
    noProbe: switchOf("no-probe", "Do not measure this machine; the speed to expect is left out."),
  },
  read: ({ noProbe, ...words }) => Effect.succeed({ ...words, probe: !noProbe }),
  work: Effect.fnUntraced(function* ({ json, probe, sft, ...words }) {
    const pipeline = sft ? "sft" : "train";
    const { checkedRun } = yield* load(() => import("../prepareRun.ts"));
    const { config } = yield* checkedRun(pipeline, { ...words, resume: null });
    const { printPlan } = yield* load(() => import("../plan.ts"));
    yield* printPlan({ config, json, pipeline, probe });
  }),
});
