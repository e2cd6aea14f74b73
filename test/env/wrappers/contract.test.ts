/** A wrapped environment keeps every promise of an environment. */

import { remote } from "../asynchronous/remote.ts";
import { contract } from "../contract/contract.ts";
import { preset } from "../contract/presets.ts";
import { answer } from "../games/countdown/answers.ts";
import { actInside, wrapped } from "./wrapped.ts";

const lake = preset("FrozenLake");
const certain = preset("FrozenLake", { success_rate: 1 });

const mild = [
  { type: "reward_shaping", scale: 2, offset: -0.01, clip_high: 5, success_bonus: 1 },
  { type: "time_limit", max_steps: 20 },
  { type: "observation_rewrite", replacements: [{ pattern: "G", replacement: "goal" }] },
];
const strict = [...mild, { type: "time_limit", max_steps: 5 }, { type: "action_filter", deny: ["Up"] }];

contract("FrozenLake in wrappers", {
  environment: wrapped(lake, ...strict),
  certain: wrapped(certain, ...mild),
  actions: 12,
});

contract("FrozenLake far away in wrappers", {
  environment: wrapped(remote(lake, { sessions: false }).environment, ...strict),
  certain: wrapped(remote(certain, { sessions: false }).environment, ...mild),
  actions: 12,
});

contract("Countdown in wrappers", {
  environment: wrapped(
    preset("Countdown"),
    { type: "action_filter", deny: ["I give up", "i gave up"] },
    { type: "time_limit", max_steps: 2 },
  ),
  certain: wrapped(preset("Countdown"), { type: "reward_shaping", success_bonus: 1 }),
  actions: 12,
  act: actInside(answer, 2),
});
