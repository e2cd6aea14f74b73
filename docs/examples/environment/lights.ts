/** Lights: a row of lamps; pressing one switches it and the lamps beside it. The episode is won when all are dark. */
import { Schema } from "effect";
import { type Environment, field, IllegalAction, positive } from "millrace/env";

const Config = Schema.Struct({
  lamps: field(Schema.Int.check(Schema.isBetween({ minimum: 2, maximum: 9 })), 9, "Lamps in the row."),
  max_steps: field(positive, 12, "Presses after which the episode is cut."),
});
type Config = typeof Config.Type;

interface State {
  /** 1 is lit, 0 is dark. */
  readonly lamps: string;
  readonly presses: number;
}

const names = ({ lamps }: Config) => Array.from({ length: lamps }, (_, at) => `${at + 1}`);
const dark = (lamps: string) => !lamps.includes("1");
const press = (lamps: string, name: string) =>
  [...lamps].map((lamp, at) => (Math.abs(at + 1 - Number(name)) <= 1 ? 1 - Number(lamp) : lamp)).join("");

const Lights: Environment<Config, State> = {
  type: "lights",
  config: Config,
  reset: (config, instance) => {
    let lamps = "0".repeat(config.lamps);
    while (dark(lamps)) for (const name of names(config)) if (instance.uniform() < 0.5) lamps = press(lamps, name);
    return { lamps, presses: 0 };
  },
  step: (config, state, action) => {
    const valid = names(config);
    if (!valid.includes(action)) throw new IllegalAction({ env_type: "lights", action, valid });
    const over = dark(state.lamps) || state.presses >= config.max_steps;
    const next = over ? state : { lamps: press(state.lamps, action), presses: state.presses + 1 };
    const success = dark(next.lamps);
    const truncated = !success && next.presses >= config.max_steps;
    const info = { success, action_is_effective: !over, action_is_valid: true };
    return { state: next, reward: over ? 0 : success ? 1 : -0.1, terminated: success, truncated, info };
  },
  render: (_config, { lamps }) => `Lamps 1 to ${lamps.length}: ${[...lamps].join(" ")}`,
  compact: (_config, { lamps }) => lamps,
  actions: names,
  legend: () => "1 is a lit lamp, 0 is a dark one.",
  /** The smallest set of presses that works: their order does not matter, and a second press undoes the first. */
  solve: (config, { lamps }) =>
    Array.from({ length: 2 ** config.lamps }, (_, set) => names(config).filter((_, at) => (set >> at) % 2 === 1))
      .filter((plan) => dark(plan.reduce(press, lamps)))
      .sort((a, b) => a.length - b.length)[0] ?? null,
  contentKey: (_config, { lamps }) => `lights:${lamps}`,
};

export default Lights;
