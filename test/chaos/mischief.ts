/** FrozenLake of which one step in so many does harm, drawn by the step's noise. */
import { Schema } from "effect";
import { type Environment, field, whole } from "millrace/env";
import { FrozenLake } from "../../src/env/games/frozen_lake/FrozenLake.ts";
import { FrozenLakeConfig } from "../../src/env/games/frozen_lake/FrozenLakeConfig.ts";

const harms = {
  none: () => undefined,
  hang: () => {
    for (;;);
  },
  /** Hangs without using a processor. */
  wait: () => void Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0),
  exit: () => process.exit(1),
  abort: () => process.abort(),
  kill: () => process.kill(process.pid, "SIGKILL"),
  throw: () => {
    throw new Error("the ice is cracked");
  },
  poison: () => {
    Array.prototype.map = () => [];
    JSON.stringify = () => "{}";
    Reflect.set(Promise.prototype, "then", () => undefined);
  },
  reject: () => void Promise.reject(new Error("nobody waits for this")),
  memory: () => {
    for (const all: number[][] = []; ; ) all.push(Array.from({ length: 1e6 }, Math.random));
  },
} as const;

const Config = Schema.Struct({
  ...FrozenLakeConfig.fields,
  fault: field(
    Schema.Literals([
      "none",
      "hang",
      "wait",
      "exit",
      "abort",
      "kill",
      "throw",
      "poison",
      "reject",
      "memory",
      "huge",
      "nan",
    ]),
    "none",
    "The harm.",
  ),
  one_in: field(whole(1, 1_000_000), 50, "Of so many steps, one does it."),
});
type Config = typeof Config.Type;

const Mischief: Environment<Config, Parameters<typeof FrozenLake.render>[1]> = {
  ...FrozenLake,
  type: "mischief",
  config: Config,
  step: (config, state, action, noise) => {
    const harmful = noise.int(config.one_in) === 0;
    const done = FrozenLake.step(config, state, action, noise);
    if (!harmful) return done;
    if (config.fault === "nan") return { ...done, reward: Number.NaN };
    if (config.fault === "huge")
      return { ...done, state: { ...done.state, layout: done.state.layout.padEnd(2 ** 24, "F") } };
    harms[config.fault]();
    return done;
  },
};

export default Mischief;
