/** The adapter that is trained in place of the weights: what of PEFT's is not available. */
import { type Check, problemIf } from "./Check.ts";

export const lora: Check = ({ model }) =>
  problemIf(
    model.lora.dropout !== 0,
    () => `model.lora.dropout: ${model.lora.dropout}: the adapter is trained without dropout; nearest: 0`,
  );
