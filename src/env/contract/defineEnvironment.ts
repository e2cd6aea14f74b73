/**
 * An environment from its few essential functions, with types inferred from them. Everything else has a default, and a full `Environment`
 * remains possible.
 */
import { Schema } from "effect";
import type { Random } from "../../domain/Random.ts";
import type { BaseInfo, Environment, Split } from "./Environment.ts";
import { IllegalAction } from "./IllegalAction.ts";

/** Numbers and booleans, which become metrics, and texts. */
type ExtraInfo = Readonly<Record<string, number | boolean | string>>;

/** The result of one action. */
export interface StepOutcome<State> {
  readonly state: State;
  /** 0 by default. */
  readonly reward?: number;
  /** The task itself ended; false by default. */
  readonly terminated?: boolean;
  /** The environment's own time limit ended the episode; false by default. */
  readonly truncated?: boolean;
  /** `terminated` by default. */
  readonly success?: boolean;
  /** The action changed something; true by default. */
  readonly effective?: boolean;
  readonly info?: ExtraInfo;
}

type Fields = Readonly<Record<string, Schema.Codec<unknown, unknown>>>;
/** The fields of a configuration, or a schema of it. */
type Keys = Fields | Schema.Codec<unknown, unknown>;
/** The values that fields or a schema decode to. */
type ConfigOf<K extends Keys> =
  K extends Schema.Codec<infer Config, unknown>
    ? Config
    : { readonly [Name in keyof K]: K[Name] extends Schema.Codec<infer Value, unknown> ? Value : never };

/** An environment's name and functions. `type`, `reset`, `step` and `render` are required; all else has a default. */
export interface EnvironmentDefinition<K extends Keys, State>
  extends Pick<
    Environment<ConfigOf<K>, State>,
    "advise" | "actionsInState" | "lacks" | "prepare" | "report" | "solve" | "thought" | "wholeAnswer" | "wholeRewards"
  > {
  /** The environment's name. */
  readonly type: string;
  /** The keys of `env_config`, each with a default; none by default. */
  readonly config?: K;
  /** Draws an instance. All chance comes from `random`, so that a seed gives the same instance everywhere. */
  readonly reset: (config: ConfigOf<K>, random: Random, split: Split) => State;
  /** Plays one action, a pure function of its arguments. With `actions`, an action that is not listed never gets here. */
  readonly step: (config: ConfigOf<K>, state: State, action: string, random: Random) => StepOutcome<State>;
  /** The text that the model is shown of a state. */
  readonly render: (config: ConfigOf<K>, state: State) => string;
  /** The legal actions in canonical spelling; null, the default, for free text. */
  readonly actions?: (config: ConfigOf<K>, state: State) => readonly string[] | null;
  /** A short text of a state for small models; `render` by default. */
  readonly compact?: (config: ConfigOf<K>, state: State) => string;
  /** Explains the symbols of a state in the system prompt; empty by default. */
  readonly legend?: string | ((config: ConfigOf<K>) => string);
  /** Equal for equal instances, by which validation is kept out of training; all of the first state by default. */
  readonly contentKey?: (config: ConfigOf<K>, state: State) => string;
}

const isCodec = (config: Keys): config is Schema.Codec<unknown, unknown> => Schema.isSchema(config);

const configOf = <K extends Keys>(config: Keys = {}) =>
  // The type of the fields, or of the schema, is that of what they decode to.
  (isCodec(config) ? config : Schema.Struct(config)) as Schema.Codec<ConfigOf<K>, unknown>;

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

/** Makes an environment for `export default`. Its state is plain data, and is never changed: a step returns a new one. */
export const defineEnvironment = <const K extends Keys, State>(
  definition: EnvironmentDefinition<K, State>,
): Environment<ConfigOf<K>, DefinedState<State>, BaseInfo & ExtraInfo> => {
  const {
    actions = () => null,
    advise,
    compact,
    config,
    contentKey,
    legend = "",
    render,
    reset,
    solve,
    step,
  } = definition;
  const { actionsInState, lacks, prepare, report, thought, type, wholeAnswer, wholeRewards } = definition;
  type Config = ConfigOf<K>;
  return {
    type,
    config: configOf<K>(config),
    reset: (keys, random, split) => ({ state: reset(keys, random, split), end: null }),
    render: (keys, { state }) => render(keys, state),
    compact: (keys, { state }) => (compact ?? render)(keys, state),
    actions: (keys, { state }) => actions(keys, state),
    legend: typeof legend === "string" ? () => legend : legend,
    contentKey: (keys, { state }) => contentKey?.(keys, state) ?? `${type} ${JSON.stringify(state)}`,
    step: (keys, defined, action, random) => {
      const valid = actions(keys, defined.state);
      if (valid !== null && !valid.includes(action))
        throw new IllegalAction({ env_type: type, action, valid: [...valid] });
      if (defined.end !== null) return stepped(defined, 0, defined.end, { action_is_effective: false });
      const outcome = step(keys, defined.state, action, random);
      const { effective = true, info = {}, reward = 0, terminated = false, truncated = false } = outcome;
      const { success = terminated } = outcome;
      const end = terminated || truncated ? { terminated, truncated, success } : null;
      const result = end ?? { terminated, truncated, success };
      return stepped({ state: outcome.state, end }, reward, result, { ...info, action_is_effective: effective });
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

const stepped = <State>(
  state: DefinedState<State>,
  reward: number,
  { success, terminated, truncated }: EpisodeEnd,
  info: ExtraInfo & Pick<BaseInfo, "action_is_effective">,
) => ({ state, reward, terminated, truncated, info: { ...info, success, action_is_valid: true } });
