/** FrozenLake that fails from some step on, each thread's own: for the picture of a dead environment, that is `custom_envs.FrozenLake.env_type`. */
import { FrozenLake } from "../../src/env/games/frozen_lake/FrozenLake.ts";

const LAST = 4000;
let steps = 0;

const DyingLake: typeof FrozenLake = {
  ...FrozenLake,
  type: "dying_lake",
  step: (...call) => {
    steps += 1;
    if (steps > LAST) throw new Error("the lake has dried up");
    return FrozenLake.step(...call);
  },
};

export default DyingLake;
