/** Lamps: the same game as lights.ts, in the short form. A lamp switches itself and its neighbours; the episode is won when all are dark. */
import { defineEnvironment, integer } from "millrace/env";

const press = (lamps: string, name: string) =>
  [...lamps].map((lamp, at) => (Math.abs(at + 1 - Number(name)) <= 1 ? 1 - Number(lamp) : lamp)).join("");

export default defineEnvironment({
  type: "lamps",
  config: { lamps: integer(2, 9, { default: 6, about: "Lamps in the row." }) },
  reset: (config, random) => {
    const names = Array.from({ length: config.lamps }, (_, at) => `${at + 1}`);
    const lamps = names.filter(() => random.uniform() < 0.5).reduce(press, "0".repeat(config.lamps));
    return { lamps: lamps.includes("1") ? lamps : press(lamps, "1"), presses: 0 };
  },
  step: (config, state, action) => {
    const next = { lamps: press(state.lamps, action), presses: state.presses + 1 };
    const terminated = !next.lamps.includes("1");
    return {
      state: next,
      reward: terminated ? 1 : -0.1,
      terminated,
      truncated: !terminated && next.presses >= 2 * config.lamps,
    };
  },
  render: (_config, { lamps }) => [...lamps].join(" "),
  actions: (config) => Array.from({ length: config.lamps }, (_, at) => `${at + 1}`),
});
