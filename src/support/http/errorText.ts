/**
 * Reads the message in the body of an error, in the usual forms: `detail` (FastAPI), `error` as a text or with a message
 * (OpenAI), or `message`. Pure. Invariant: no body makes it throw.
 */
const isObject = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === "object" && value !== null && !Array.isArray(value);

/** Parses a body as JSON; undefined if it is none. */
export const jsonOrUndefined = (body: string | null): unknown => {
  try {
    return JSON.parse(body ?? "");
  } catch {
    return undefined;
  }
};

/** One of FastAPI's faults: its place and message. */
const faultText = (fault: unknown): string => {
  if (!isObject(fault)) return String(fault);
  const { loc, msg } = fault;
  return `${Array.isArray(loc) ? loc.map(String).join(".") : ""}: ${String(msg)}`;
};

/** The message in the JSON of an error; null if there is none. */
export const errorMessageIn = (value: unknown): string | null => {
  if (!isObject(value)) return null;
  const said = value.detail ?? value.error ?? value.message ?? null;
  if (typeof said === "string") return said;
  if (Array.isArray(said)) return said.map(faultText).join("; ");
  if (!isObject(said)) return said === null ? null : String(said);
  return typeof said.message === "string" ? said.message : JSON.stringify(said);
};

/** The message in an error body, or the whole text if there is none. */
export const errorText = (body: string | null): string => {
  if (body === null) return "an answer that is too long";
  return errorMessageIn(jsonOrUndefined(body)) ?? (body.trim() || "an empty answer");
};

/** The message in an error body, in parentheses after a blank; empty if there is none. */
export const errorDetail = (body: string | null): string => {
  const said = errorMessageIn(jsonOrUndefined(body));
  return said === null ? "" : ` (${said.slice(0, 200)})`;
};

/** A server's message in one line, with the key removed. */
export const withoutKey = (text: string, key: string | null): string => {
  const line = text.replace(/\s+/g, " ");
  return key === null || key === "" ? line : line.replaceAll(key, "[key]");
};
