/** Checks of the adapter: PEFT options that are not supported. */
import { type Check, problemIf } from "./Check.ts";

export const lora: Check = ({ model }) =>
  problemIf(
    model.lora.dropout !== 0,
    () => `model.lora.dropout: ${model.lora.dropout}: the adapter is trained without dropout; nearest: 0`,
  );
