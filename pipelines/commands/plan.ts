/** `millrace plan`. */
import { Effect } from "effect";
import { commandOf, load } from "./Command.ts";
import { configName, envs, overrides, switchOf } from "./words.ts";

export const plan = commandOf({
  name: "plan",
  usage: "plan --config-name NAME [--json] [--no-probe] [key.sub=value ...]",
  meaning: "Says what memory a training run takes, how fast it will be, and what to turn down; runs nothing.",
  flags: {
    configName,
    envs,
    overrides,
    json: switchOf("json", "Print the plan as JSON."),
    noProbe: switchOf("no-probe", "Do not measure this machine; the speed to expect is left out."),
  },
  read: ({ noProbe, ...words }) => Effect.succeed({ ...words, probe: !noProbe }),
  work: Effect.fnUntraced(function* ({ json, probe, ...words }) {
    const { checkedRun } = yield* load(() => import("../prepareRun.ts"));
    const { config } = yield* checkedRun("train", { ...words, resume: null });
    const { planned } = yield* load(() => import("../plan.ts"));
    yield* planned({ config, json, probe });
  }),
});
