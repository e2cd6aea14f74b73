/**
 * What a server says in the body of an error, in the forms that servers have: `detail` (FastAPI), `error` as a text or with a message (OpenAI),
 * or `message`. Pure. Invariant: whatever a body holds, it is read without a throw.
 */
const isObject = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === "object" && value !== null && !Array.isArray(value);

/** A body as JSON; undefined where it is none. */
export const jsonOrUndefined = (body: string | null): unknown => {
  try {
    return JSON.parse(body ?? "");
  } catch {
    return undefined;
  }
};

/** One of FastAPI's faults: where, and what. */
const faultText = (fault: unknown): string => {
  if (!isObject(fault)) return String(fault);
  const { loc, msg } = fault;
  return `${Array.isArray(loc) ? loc.map(String).join(".") : ""}: ${String(msg)}`;
};

/** What the JSON of an error says; null where it says nothing. */
export const errorMessageIn = (value: unknown): string | null => {
  if (!isObject(value)) return null;
  const said = value.detail ?? value.error ?? value.message ?? null;
  if (typeof said === "string") return said;
  if (Array.isArray(said)) return said.map(faultText).join("; ");
  if (!isObject(said)) return said === null ? null : String(said);
  return typeof said.message === "string" ? said.message : JSON.stringify(said);
};

/** What an error body says; of a body without an error in it, the text. */
export const errorText = (body: string | null): string => {
  if (body === null) return "an answer that is too long";
  return errorMessageIn(jsonOrUndefined(body)) ?? (body.trim() || "an empty answer");
};

/** What an error body says of its error, in parentheses behind a blank; empty where it says nothing. */
export const errorDetail = (body: string | null): string => {
  const said = errorMessageIn(jsonOrUndefined(body));
  return said === null ? "" : ` (${said.slice(0, 200)})`;
};

/** A server's words in one line, without the key. */
export const withoutKey = (text: string, key: string | null): string => {
  const line = text.replace(/\s+/g, " ");
  return key === null || key === "" ? line : line.replaceAll(key, "[key]");
};
