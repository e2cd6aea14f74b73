/**
 * The parameters of a decoder that an update changes, and the frozen others: all are trained, or only an adapter's. A critic's value
 * head is always trained.
 * Adapter parameters have PEFT's names without their prefix.
 * Invariant: frozen and trained parameters together are the inputs of every graph of the decoder.
 */
import type { Random } from "../../domain/Random.ts";
import { type Adapter, inLayerOrder } from "./Adapter.ts";
import {
  criticParameters,
  type DecoderConfig,
  type ParameterSpec,
  parameters,
  VALUE_BIAS,
  VALUE_WEIGHT,
} from "./Architecture.ts";
import { namedTensors, type Parameters, parametersOf } from "./Parameters.ts";

export const loraA = (module: string): string => `${module}.lora_A.weight`;
export const loraB = (module: string): string => `${module}.lora_B.weight`;

/** The module and its last name in "model.layers.3.mlp.up_proj.weight". */
const MODULE = /^(.*\.([a-z_]+))\.weight$/;

/** A [rank, in] and B [out, rank] of every adapted layer, in the order of the layers' weights. */
export const adapterParameters = (config: DecoderConfig, { rank, targets }: Adapter): readonly ParameterSpec[] =>
  parameters(config).flatMap(({ name, shape: [out, width] }) => {
    const [, module, last] = MODULE.exec(name) ?? [];
    if (module === undefined || last === undefined || inLayerOrder([last]).every((target) => !targets.includes(target)))
      return [];
    if (out === undefined || width === undefined) return [];
    return [
      { name: loraA(module), shape: [rank, width] },
      { name: loraB(module), shape: [out, rank] },
    ];
  });

/** The policy's parameters that an update changes. */
export const trainedParameters = (config: DecoderConfig): readonly ParameterSpec[] =>
  config.adapter === undefined ? parameters(config) : adapterParameters(config, config.adapter);

const isHead = ({ name }: ParameterSpec): boolean => name === VALUE_WEIGHT || name === VALUE_BIAS;

/** A critic's parameters that an update changes. */
export const trainedCriticParameters = (config: DecoderConfig): readonly ParameterSpec[] => {
  const specs = criticParameters(config);
  return config.adapter === undefined ? specs : [...adapterParameters(config, config.adapter), ...specs.filter(isHead)];
};

/** The parameters that stay as they are: none without an adapter. */
export const frozenParameters = (config: DecoderConfig): readonly ParameterSpec[] =>
  config.adapter === undefined ? [] : parameters(config);

/** Returns a critic's frozen parameters, none without an adapter. */
export const frozenCriticParameters = (config: DecoderConfig): readonly ParameterSpec[] =>
  config.adapter === undefined ? [] : criticParameters(config).filter((spec) => !isHead(spec));

/**
 * Fresh numbers of an adapter as PEFT draws them: A uniform in ±1/sqrt(in), which is Kaiming's with a = sqrt(5) (He et al. 2015), and B zeros, so
 * that the adapter adds nothing yet.
 */
export const freshAdapter = (specs: readonly ParameterSpec[], random: Random): Parameters => {
  const fresh = parametersOf(specs);
  for (const { name, shape, values } of namedTensors(fresh)) {
    const [, width] = shape;
    if (!name.endsWith(loraA("")) || width === undefined) continue;
    const bound = 1 / Math.sqrt(width);
    for (let i = 0; i < values.length; i += 1) values[i] = bound * (2 * random.uniform() - 1);
  }
  return fresh;
};
