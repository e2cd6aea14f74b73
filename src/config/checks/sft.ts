/** Checks of behaviour cloning and of the sizes of a fresh model. */
import type { RunConfig } from "../RunConfig.ts";
import { type Check, problemIf } from "./Check.ts";

export const clonedData: Check = ({ sft }) =>
  problemIf(
    sft.sources.length === 0 && sft.conversations.path === "",
    () => "sft.sources: []: nothing to clone; name a source, or conversations in sft.conversations.path",
  );

export const heads: Check = ({ sft }) => [
  ...problemIf(
    sft.architecture.hidden_size % sft.architecture.heads !== 0,
    () =>
      `sft.architecture.heads: ${sft.architecture.heads}: expected a divisor of sft.architecture.hidden_size (${sft.architecture.hidden_size})`,
  ),
  ...problemIf(
    sft.architecture.heads % sft.architecture.kv_heads !== 0,
    () =>
      `sft.architecture.kv_heads: ${sft.architecture.kv_heads}: expected a divisor of sft.architecture.heads (${sft.architecture.heads})`,
  ),
];

/** Most parameters of a fresh model, as many as one array of gradients can hold. */
const maxParameters = 2 ** 31;

/** Counts the parameters of the decoder layers, without embeddings. */
export const parametersOf = ({
  heads,
  hidden_size,
  intermediate_size,
  kv_heads,
  layers,
}: RunConfig["sft"]["architecture"]) =>
  layers * (2 * hidden_size ** 2 + 2 * hidden_size ** 2 * (kv_heads / heads) + 3 * hidden_size * intermediate_size);

export const parameters: Check = ({ sft }) =>
  problemIf(
    parametersOf(sft.architecture) > maxParameters,
    () =>
      `sft.architecture: its layers have ${parametersOf(sft.architecture).toExponential(1)} parameters, more than ${maxParameters.toExponential(1)}`,
  );
