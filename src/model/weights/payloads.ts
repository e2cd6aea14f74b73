/** Opens a version's payload as parameters: all of a model's, or an adapter's if it stands beside a base. */
import type { Version } from "../../domain/Episode.ts";
import type { DecoderConfig } from "../graphs/Architecture.ts";
import { type Parameters, parametersOf } from "../graphs/Parameters.ts";
import { trainedParameters } from "../graphs/TrainedParameters.ts";
import type { Payload, VersionSupport } from "./Weights.ts";

/** Returns the kind of payload that a decoder's model accepts. */
export const payloadKind = ({ adapter }: DecoderConfig): Exclude<VersionSupport["payloadKinds"][number], "remote"> =>
  adapter === undefined ? "full" : "adapter";

/** Opens payloads for a decoder. Throws a RangeError where one is of another kind or size. */
export const payloadReader = (config: DecoderConfig) => {
  const specs = trainedParameters(config);
  const takes = payloadKind(config);
  return (version: Version, payload: Payload): Parameters => {
    if (payload._tag !== takes) throw new RangeError(`version ${version} is of the kind ${payload._tag}, not ${takes}`);
    return parametersOf(specs, new Float32Array(payload.buffer));
  };
};
