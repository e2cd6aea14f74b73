/** The contract suite over the environment in JavaScript; the presets differ from it in their limits and in the language. */

import type { DeepCoderState } from "../../../../src/env/games/deepcoder/DeepCoder.ts";
import { contract } from "../../contract/contract.ts";
import type { Act } from "../../contract/players.ts";
import { asyncPreset } from "../../contract/presets.ts";
import { solutions } from "./solutions.ts";

/** Right, wrong, broken, empty. */
const act: Act = (state, random) => {
  const { task } = state as DeepCoderState;
  return random.pick([solutions.javascript.get(task.name)!, `const ${task.entry} = () => 1;`, "const = ;", "```\n```"]);
};

const keys = { test_timeout: 30, total_timeout: 120, max_tests: 1 };
contract("DeepCoder in JavaScript", {
  environment: asyncPreset("DeepCoderJavaScript", keys),
  certain: asyncPreset("DeepCoderJavaScript", keys),
  actions: 2,
  act,
});
