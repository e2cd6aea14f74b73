/**
 * The plan of an evaluation, apart from its run file. It is written when the evaluation begins, so that a resume is held to it and results
 * say what they are of.
 */
import { Schema } from "effect";

export const Plan = Schema.Struct({
  schema: Schema.Literal(1),
  /** The name of the contestant in tables. */
  name: Schema.String,
  /** The name at the endpoint, or the checkpoint's folder. */
  model: Schema.String,
  /** `checkpoint`, or the endpoint's protocol. */
  kind: Schema.String,
  temperature: Schema.Finite,
  versions: Schema.Struct({ environment: Schema.String, template: Schema.String }),
  /** First instance seed, and episodes of each instance. */
  seed: Schema.Finite,
  group_size: Schema.Int,
  /** Episodes. */
  planned: Schema.Int,
});
export type Plan = typeof Plan.Type;

/**
 * Pairs each value that decides an episode with the words of a message. The number of instances is left out, since a resume may add more.
 */
const deciding = ({ group_size, kind, model, seed, temperature, versions }: Plan) =>
  [
    ["the model", model],
    ["the kind of model", kind],
    ["the temperature", temperature],
    ["es_manager.val.seed", seed],
    ["es_manager.val.group_size", group_size],
    ["an environment preset of es_manager.val.tags", versions.environment],
    ["the template, its texts or a rule of a turn", versions.template],
  ] as const;

/** Names the first value in which `now` differs from `before`; null where the evaluation can go on. */
export const changeOf = (before: Plan, now: Plan): string | null => {
  const values = deciding(now);
  const index = deciding(before).findIndex(([, value], at) => value !== values[at]?.[1]);
  return values[index]?.[0] ?? null;
};
