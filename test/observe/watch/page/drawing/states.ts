/** Real states of environments: several instances, each played some random actions on, as the renderings that a model would see. */
import { Schema } from "effect";
import { type Random, stream } from "../../../../../src/domain/Random.ts";
import type { BaseInfo, Environment } from "../../../../../src/env/contract/Environment.ts";
import { instanceOf, noiseOf } from "../../../../env/contract/players.ts";

export interface Shown<State> {
  readonly state: State;
  /** The observation and its short form. */
  readonly full: string;
  readonly compact: string;
  readonly env_config: Readonly<Record<string, unknown>>;
}

interface Play<State> {
  readonly seeds: number;
  readonly actions: number;
  /** An action of an environment that takes free text. */
  readonly act?: (state: State, random: Random) => string;
}

export const statesOf = <Config, State, Info extends BaseInfo>(
  environment: Environment<Config, State, Info>,
  env_config: Readonly<Record<string, unknown>>,
  { actions, act, seeds }: Play<State>,
): readonly Shown<State>[] => {
  const config = Schema.decodeUnknownSync(environment.config)(env_config);
  const shown = (state: State): Shown<State> => ({
    state,
    full: environment.render(config, state),
    compact: environment.compact(config, state),
    env_config,
  });
  return Array.from({ length: seeds }, (_, seed) => {
    let state = environment.reset(config, instanceOf(seed), "train");
    const random = stream({ seed, purpose: "play", counters: [] });
    const states = [shown(state)];
    for (let at = 0; at < actions; at++) {
      const names = environment.actions(config, state);
      const action = names === null ? (act?.(state, random) ?? "") : random.pick(names);
      const next = environment.step(config, state, action, noiseOf(seed, 0, at));
      state = next.state;
      states.push(shown(state));
      if (next.terminated || next.truncated) break;
    }
    return states;
  }).flat();
};
