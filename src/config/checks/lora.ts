/** The adapter that is trained in place of the weights: what of PEFT's is not available. */
import { type Check, when } from "../relation.ts";

export const lora: Check = ({ model }) =>
  when(
    model.lora.dropout !== 0,
    () => `model.lora.dropout: ${model.lora.dropout}: the adapter is trained without dropout; nearest: 0`,
  );
