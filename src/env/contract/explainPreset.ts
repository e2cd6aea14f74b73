/** Writes the message by which a user learns why a preset of the run file cannot be used. */
import { explain } from "../../config/decode.ts";
import { showKey, showText, showValue } from "../../config/show.ts";
import { byNearest, choices } from "../../support/text/nearest.ts";
import type { PresetError } from "./Preset.ts";

export const explainPreset = (error: PresetError): string => {
  const key = showKey(error.path);
  if (error._tag === "InvalidConfig") {
    return explain(error.schema, error.value, error.cause, { section: error.path });
  }
  if (error._tag === "UnusableModule") return `${key}: ${showValue(error.value)}: ${showText(error.reason, 300)}`;
  const kind = error._tag === "UnknownEnvironment" ? "environment" : "wrapper";
  if (error.value === undefined) return `${key}: missing; expected one of ${error.choices.join(", ")}`;
  const written = String(error.value);
  const nearest = byNearest(written, error.choices)[0];
  return `${key}: ${showValue(error.value)}: no such ${kind}; nearest: ${nearest}; all: ${choices(written, error.choices)}`;
};
