/** The short form of an environment: its few essential functions, whose types give those of the configuration and the state. */
import { Schema } from "effect";
import type { Random } from "../../domain/Random.ts";
import type { Environment, Split } from "./Environment.ts";

/** Numbers and booleans, which become metrics, and texts. */
export type ExtraInfo = Readonly<Record<string, number | boolean | string>>;

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

export type Fields = Readonly<Record<string, Schema.Codec<unknown, unknown>>>;
/** The fields of a configuration, or a schema of it. */
export type Keys = Fields | Schema.Codec<unknown, unknown>;
/** The values that fields or a schema decode to. */
export type ConfigOf<K extends Keys> =
  K extends Schema.Codec<infer Config, unknown>
    ? Config
    : { readonly [Name in keyof K]: K[Name] extends Schema.Codec<infer Value, unknown> ? Value : never };

const isCodec = (keys: Keys): keys is Schema.Codec<unknown, unknown> => Schema.isSchema(keys);

/** The schema of keys. */
export const schemaOf = <K extends Keys>(keys: Keys = {}): Schema.Codec<ConfigOf<K>, unknown> =>
  // The type of the fields, or of the schema, is that of what they decode to.
  (isCodec(keys) ? keys : Schema.Struct(keys)) as Schema.Codec<ConfigOf<K>, unknown>;

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
  /** Absent: a definition of tools has them in place of `step`. */
  readonly tools?: undefined;
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
