/** Values of JSON that may be anything. Pure. */

/** A JSON object whose values are not checked yet. */
export type JsonObject = Readonly<Record<string, unknown>>;

/** Tells whether a JSON value is an object: neither null nor a list is one. */
export const isJsonObject = (value: unknown): value is JsonObject =>
  typeof value === "object" && value !== null && !Array.isArray(value);
