/** An environment that waits and computes next to nothing, so that a worker's rate depends on its slots and not on the processor. */
import { Schema } from "effect";
import { type AsyncEnvironment, field } from "millrace/env";

const Config = Schema.Struct({
  mean_ms: field(
    Schema.Finite.check(Schema.isBetween({ minimum: 0, maximum: 60_000 })),
    1_000,
    "Mean time of a reset.",
  ),
});
type Config = typeof Config.Type;

interface State {
  readonly seed: number;
  readonly won: boolean;
}

const Slow: AsyncEnvironment<Config, State> = {
  type: "slow",
  asynchronous: true,
  config: Config,
  /** From half to one and a half times the mean. */
  reset: async ({ mean_ms }, instance, _split, signal) => {
    const ms = mean_ms * (0.5 + instance.uniform());
    await new Promise<void>((resolve) => {
      const timer = setTimeout(resolve, ms);
      signal.addEventListener("abort", () => {
        clearTimeout(timer);
        resolve();
      });
    });
    return { seed: Number(instance.key.seed), won: false };
  },
  step: async (_config, state) => ({
    state: { ...state, won: true },
    reward: 1,
    terminated: true,
    truncated: false,
    info: { success: true, action_is_effective: true, action_is_valid: true },
  }),
  render: (_config, { seed }) => `room ${seed}`,
  compact: (_config, { seed }) => `${seed}`,
  actions: () => ["Go"],
  legend: () => "",
  contentKey: (_config, { seed }) => `slow:${seed}`,
  capacity: () => 4_096,
  timeoutMs: () => 120_000,
};

export default Slow;
