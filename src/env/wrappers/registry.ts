/**
 * The table of wrappers by `type`, and the step from a preset's list to a wrapped environment, in which the first of the list is the
 * innermost. A new wrapper is one line in `registered`.
 */
import * as Result from "effect/Result";
import * as Schema from "effect/Schema";
import type { AnyEnvironment, InvalidConfig } from "../contract/BoundEnvironment.ts";
import type { UnknownType } from "../contract/Preset.ts";
import { ActionFilterConfig, actionFilter } from "./actionFilter.ts";
import { ObservationRewriteConfig, observationRewrite } from "./observationRewrite.ts";
import { RewardShapingConfig, rewardShaping } from "./rewardShaping.ts";
import { TimeLimitConfig, timeLimit } from "./timeLimit.ts";
import { type Wrapper, wrap } from "./Wrapper.ts";

/** A kind of wrapper that is not bound to a configuration yet. */
export interface RegisteredWrapper {
  readonly type: string;
  /** The schema of the keys beside `type`, by which help lists them and an error explains a wrong one. */
  readonly config: Schema.Codec<unknown, unknown>;
  readonly decode: (
    keys: unknown,
  ) => Result.Result<(environment: AnyEnvironment) => AnyEnvironment, Schema.SchemaError>;
}

const register = <Config, Memory>(
  type: string,
  config: Schema.Codec<Config, unknown>,
  make: (config: Config) => Wrapper<Memory>,
): RegisteredWrapper => {
  const decode = Schema.decodeUnknownResult(config, { errors: "all", onExcessProperty: "error" });
  return {
    type,
    config,
    decode: (keys) =>
      Result.map(decode(keys), (decoded) => {
        const wrapper = make(decoded);
        return (environment: AnyEnvironment) => wrap(environment, wrapper);
      }),
  };
};

const registered = [
  register("time_limit", TimeLimitConfig, timeLimit),
  register("action_filter", ActionFilterConfig, actionFilter),
  register("reward_shaping", RewardShapingConfig, rewardShaping),
  register("observation_rewrite", ObservationRewriteConfig, observationRewrite),
];

export const wrappers: ReadonlyMap<string, RegisteredWrapper> = new Map(registered.map((entry) => [entry.type, entry]));

/** Wraps an environment in a preset's wrappers, or fails with the first one that cannot be used; paths are relative to the list. */
export const wrapAll = (
  environment: AnyEnvironment,
  list: readonly Readonly<Record<string, unknown>>[],
): Result.Result<AnyEnvironment, InvalidConfig | UnknownType> => {
  let wrapped = environment;
  for (const [at, { type, ...keys }] of list.entries()) {
    const registration = typeof type === "string" ? wrappers.get(type) : undefined;
    if (registration === undefined) {
      return Result.fail({
        _tag: "UnknownWrapper",
        path: [String(at), "type"],
        value: type,
        choices: [...wrappers.keys()],
      });
    }
    const decoded = registration.decode(keys);
    if (Result.isFailure(decoded)) {
      return Result.fail({
        _tag: "InvalidConfig",
        path: [String(at)],
        value: keys,
        cause: decoded.failure,
        schema: registration.config,
      });
    }
    wrapped = decoded.success(wrapped);
  }
  return Result.succeed(wrapped);
};
