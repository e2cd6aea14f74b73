/**
 * The schemas of our server's description of an environment, and of a state with the transition into it as an OpenEnv observation. Invariant: a
 * client reads the same texts from them that a local environment gives.
 */
import { Option, Schema } from "effect";
import type { BoundEnvironment } from "../contract/BoundEnvironment.ts";
import type { BaseInfo, Transition } from "../contract/Environment.ts";
import type { JsonObject, Payload } from "./Protocol.ts";

const Measure = Schema.Union([Schema.Finite, Schema.Boolean]);

/** The observation. `info` is empty after a reset. */
export const ServedObservation = Schema.Struct({
  text: Schema.String.annotate({ description: "The state as the model is shown it." }),
  compact: Schema.String.annotate({ description: "A short text of the state." }),
  legal_actions: Schema.NullOr(Schema.Array(Schema.String)).annotate({
    description: "Names of the legal actions; null where actions are free text.",
  }),
  content_key: Schema.String.annotate({ description: "Identifies the instance by its content." }),
  terminated: Schema.Boolean.annotate({ description: "The task ended." }),
  truncated: Schema.Boolean.annotate({ description: "The environment's own time limit ended the episode." }),
  success: Schema.Boolean,
  info: Schema.Record(Schema.String, Measure).annotate({
    description: "Numbers and booleans that the last step reports.",
  }),
});
export type ServedObservation = typeof ServedObservation.Type;

/** The mark by which a client recognises a payload of a Millrace server. */
export const source = "millrace";

/** The properties of an environment that do not change with the state. */
export const EnvironmentDescription = Schema.Struct({
  source: Schema.Literal(source),
  env_type: Schema.String,
  legend: Schema.String,
  whole_answer: Schema.Boolean,
  /** A missing value means false, here and in the next field. */
  whole_rewards: Schema.optionalKey(Schema.Boolean),
  actions_in_state: Schema.optionalKey(Schema.Boolean),
});
export type EnvironmentDescription = typeof EnvironmentDescription.Type;

export const descriptionOf = ({
  actionsInState,
  legend,
  type,
  wholeAnswer,
  wholeRewards,
}: BoundEnvironment): EnvironmentDescription => ({
  source,
  env_type: type,
  legend,
  whole_answer: wholeAnswer,
  whole_rewards: wholeRewards,
  actions_in_state: actionsInState,
});

export const payloadOf = (
  environment: BoundEnvironment,
  state: unknown,
  transition: Transition<unknown, BaseInfo> | null,
  metadata: JsonObject,
): Payload => {
  const { terminated = false, truncated = false } = transition ?? {};
  const observation: ServedObservation = {
    text: environment.render(state),
    compact: environment.compact(state),
    legal_actions: environment.actions(state),
    content_key: environment.contentKey(state),
    terminated,
    truncated,
    success: transition?.info.success ?? false,
    info: { ...transition?.info },
  };
  return {
    observation: { ...observation },
    reward: transition?.reward ?? null,
    done: terminated || truncated,
    metadata: { source, env_type: environment.type, ...metadata },
  };
};

const ours = Schema.decodeUnknownOption(Schema.Struct({ source: Schema.Literal(source) }));

export const isFromMillrace = ({ metadata }: Payload): boolean => Option.isSome(ours(metadata));
