/** JSON with a space behind commas and colons, as Python's `json.dumps` and so most chat templates write it. */
import { isJsonObject } from "../../checkpoint/TokenizerFiles.ts";

export const spacedJson = (value: unknown): string => {
  if (Array.isArray(value)) return `[${value.map(spacedJson).join(", ")}]`;
  if (!isJsonObject(value)) return JSON.stringify(value) ?? "null";
  const members = Object.entries(value).filter(([, member]) => member !== undefined);
  return `{${members.map(([name, member]) => `${JSON.stringify(name)}: ${spacedJson(member)}`).join(", ")}}`;
};
