/**
 * FrozenLake some of whose turns fail, for the sweep `failures`: either by an error, so that the episode is left out of training, or as an end that
 * earns 0. The same turns fail in both. Plain JavaScript, because Node runs no TypeScript inside an installed package.
 */
import { extname } from "node:path";
import { Schema } from "effect";
import { field, fraction, positive, stream } from "millrace/env";

/** The package exports no environment, so that its own is found from an entry: a source file in a checkout, a compiled one in a release. */
const entry = import.meta.resolve("millrace/env");
const { FrozenLake } = await import(new URL(`../games/frozen_lake/FrozenLake${extname(entry)}`, entry).href);

const Config = Schema.Struct({
  ...FrozenLake.config.fields,
  failure: field(
    Schema.Literals(["none", "error", "zero"]),
    "none",
    "What a turn that fails does: nothing, an error of the environment, or an end of the episode without a reward.",
  ),
  failure_rate: field(fraction, 0.05, "Probability that a turn fails, before its first action."),
  from_turn: field(positive, 1, "Turns before this one never fail; they count from 1, with those that name no action."),
});

/**
 * Returns true if the turn of this action fails. The counters of noise are group, member, turn and action. The draw has a stream of its own, so that slips
 * are those of a lake without failures.
 */
const fails = ({ failure, failure_rate, from_turn }, { key }) => {
  const [, , turn = 0, action = 0] = key.counters;
  if (failure === "none" || turn < from_turn || action > 0) return false;
  return stream({ ...key, counters: [...key.counters, 1] }).uniform() < failure_rate;
};

const isOver = ({ failed, layout, player }) => failed === true || layout[player] === "G" || layout[player] === "H";

/** The end of an episode that failed and counts as 0. */
const end = (state) => ({
  state: { ...state, failed: true },
  reward: 0,
  terminated: true,
  truncated: false,
  info: { success: false, action_is_effective: false, action_is_valid: true, total_failures: state.failed ? 0 : 1 },
});

export default {
  ...FrozenLake,
  config: Config,
  step: (config, state, action, noise) => {
    // It refuses what is no action, whether the turn fails or not.
    const transition = FrozenLake.step(config, state, action, noise);
    if (state.failed === true) return end(state);
    if (isOver(state) || !fails(config, noise)) return transition;
    if (config.failure === "error") throw new Error("this turn was made to fail");
    return end(state);
  },
  solve: (config, state) => (state.failed === true ? null : FrozenLake.solve(config, state)),
};
