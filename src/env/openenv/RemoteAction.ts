/** Writes a model's action as the server's action object, in the configured form; null if the text cannot be read in that form. */
import type { StreamKey } from "../../domain/Random.ts";
import type { JsonObject } from "./Protocol.ts";
import type { RemoteConfig } from "./RemoteConfig.ts";

type ActionForm = Pick<RemoteConfig, "action_field" | "action_form" | "stream_keys">;

const objectIn = (text: string): JsonObject | null => {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === "object" && value !== null && !Array.isArray(value) ? { ...value } : null;
  } catch {
    return null;
  }
};

const fieldsOf = ({ action_field, action_form }: ActionForm, text: string): JsonObject | null => {
  switch (action_form) {
    case "text":
      return { [action_field]: text };
    case "number": {
      const number = text.trim() === "" ? Number.NaN : Number(text);
      return Number.isFinite(number) ? { [action_field]: number } : null;
    }
    case "json":
      return objectIn(text);
  }
};

/** `noise` travels in the action's metadata, the one field every action of OpenEnv has. */
export const remoteAction = (form: ActionForm, text: string, noise: StreamKey): JsonObject | null => {
  const fields = fieldsOf(form, text);
  return fields === null || !form.stream_keys ? fields : { ...fields, metadata: { noise } };
};
