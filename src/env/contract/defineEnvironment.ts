/**
 * An environment from its few essential functions, with types inferred from them. Everything else has a default, and a full `Environment`
 * remains possible.
 */
import type { BaseInfo, Environment } from "./Environment.ts";
import {
  type ConfigOf,
  type EnvironmentDefinition,
  type ExtraInfo,
  type Keys,
  schemaOf,
} from "./EnvironmentDefinition.ts";
import { IllegalAction } from "./IllegalAction.ts";
import type { ToolEnvironmentDefinition } from "./tools/ToolDefinition.ts";
import { type PlayOf, toolList, toolPlay } from "./tools/toolPlay.ts";

/** The end of an episode, which its later steps repeat. */
interface EpisodeEnd {
  readonly terminated: boolean;
  readonly truncated: boolean;
  readonly success: boolean;
}

/** A state with the end that it may have, so that no definition needs to refuse steps after the end. */
export interface DefinedState<State> {
  readonly state: State;
  readonly end: EpisodeEnd | null;
}

type Inner<Config, State, Result> = ((config: Config, state: State) => Result) | undefined;

/** The same function of a state with its end. */
const outer = <Config, State, Result>(inner: Inner<Config, State, Result>) =>
  inner && ((config: Config, { state }: DefinedState<State>) => inner(config, state));

/** Leaves out members without a value. */
const present = <Members extends object>(members: Members): { [Name in keyof Members]?: NonNullable<Members[Name]> } =>
  Object.fromEntries(Object.entries(members).filter(([, value]) => value !== undefined)) as {
    [Name in keyof Members]?: NonNullable<Members[Name]>;
  };

/** The environment that `defineEnvironment` makes. */
type DefinedEnvironment<K extends Keys, State> = Environment<ConfigOf<K>, DefinedState<State>, BaseInfo & ExtraInfo>;

/** The members that both forms of a definition have. */
type SharedDefinition<K extends Keys, State> = Omit<EnvironmentDefinition<K, State>, "step" | "tools">;

/** The environment of a definition whose actions `playOf` carries out. */
const environmentOf = <K extends Keys, State>(
  definition: SharedDefinition<K, State>,
  playOf: PlayOf<ConfigOf<K>, State>,
): DefinedEnvironment<K, State> => {
  const { actions = () => null, advise, compact, config, contentKey, legend = "", render, reset, solve } = definition;
  const { actionsInState, lacks, prepare, report, thought, type, wholeAnswer, wholeRewards } = definition;
  type Config = ConfigOf<K>;
  return {
    type,
    config: schemaOf<K>(config),
    reset: (keys, random, split) => ({ state: reset(keys, random, split), end: null }),
    render: (keys, { state }) => render(keys, state),
    compact: (keys, { state }) => (compact ?? render)(keys, state),
    actions: (keys, { state }) => actions(keys, state),
    legend: typeof legend === "string" ? () => legend : legend,
    contentKey: (keys, { state }) => contentKey?.(keys, state) ?? `${type} ${JSON.stringify(state)}`,
    step: (keys, defined, action, random) => {
      const play = playOf(keys, defined.state, action);
      if (defined.end !== null) return stepped(defined, 0, defined.end, { action_is_effective: false });
      const { effective = true, info = {}, reward = 0, state, text, ...outcome } = play(random);
      const { terminated = false, truncated = false, success = terminated } = outcome;
      const end = { terminated, truncated, success };
      const next = { state, end: terminated || truncated ? end : null };
      const transition = stepped(next, reward, end, { ...info, action_is_effective: effective });
      return text === undefined ? transition : { ...transition, result: text };
    },
    ...present({ actionsInState, lacks, prepare, report, wholeAnswer, wholeRewards }),
    ...present({
      solve: outer<Config, State, readonly string[] | null>(solve),
      advise: outer<Config, State, string | null>(advise),
      thought:
        thought &&
        ((keys: Config, { state }: DefinedState<State>, plan: readonly string[]) => thought(keys, state, plan)),
    }),
  };
};

/** The play of text actions: an action that is not listed is illegal. */
const textPlay =
  <K extends Keys, State>({
    actions = () => null,
    step,
    type,
  }: EnvironmentDefinition<K, State>): PlayOf<ConfigOf<K>, State> =>
  (config, state, action) => {
    const valid = actions(config, state);
    if (valid !== null && !valid.includes(action)) {
      throw new IllegalAction({ env_type: type, action, valid: [...valid] });
    }
    return (random) => step(config, state, action, random);
  };

/** Makes an environment for `export default`, of text actions or of tools. Its state is plain data, and is never changed. */
export function defineEnvironment<const K extends Keys, State, const Tools extends readonly unknown[]>(
  definition: EnvironmentDefinition<K, State> | ToolEnvironmentDefinition<K, State, Tools>,
): DefinedEnvironment<K, State>;
/** Makes an environment for `export default`, of text actions or of tools. Its state is plain data, and is never changed. */
export function defineEnvironment<const K extends Keys, State>(
  definition: EnvironmentDefinition<K, State> | ToolEnvironmentDefinition<K, State, readonly unknown[]>,
): DefinedEnvironment<K, State> {
  if (definition.tools === undefined) return environmentOf<K, State>(definition, textPlay<K, State>(definition));
  const offered = toolList(definition.tools);
  return { ...environmentOf<K, State>(definition, toolPlay(definition)), tools: () => offered };
}

const stepped = <State>(
  state: DefinedState<State>,
  reward: number,
  { success, terminated, truncated }: EpisodeEnd,
  info: ExtraInfo & Pick<BaseInfo, "action_is_effective">,
) => ({ state, reward, terminated, truncated, info: { ...info, success, action_is_valid: true } });
