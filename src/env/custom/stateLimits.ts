/**
 * Limits of the states and texts of a user's environment: a state is plain data that survives JSON, and neither is huge. Only the first,
 * second, fourth, eighth, … state is checked in whole, so that the check costs nothing in the long run.
 */

/** The largest state, in characters of JSON, because a state travels to a thread and back with each step. */
export const MAX_STATE = 2 ** 20;
/** The longest observation, in characters. A prompt that a model can take is far shorter. */
export const MAX_TEXT = 2 ** 18;
/** The deepest nesting of a state. */
const MAX_DEPTH = 100;

const characterCount = (characters: number): string =>
  characters < 10_000
    ? `${characters}`
    : characters < 2 ** 20
      ? `${Math.round(characters / 1024)} Ki`
      : `${(characters / 2 ** 20).toFixed(1)} Mi`;

const isPlain = (value: object): boolean => {
  const prototype: unknown = Object.getPrototypeOf(value);
  return prototype === Object.prototype || prototype === null;
};

/** The first part of a value that is not plain data, with its path within the state; undefined where there is none. */
const findNonPlain = (value: unknown, path: string, depth: number): string | undefined => {
  if (value === null || value === undefined || typeof value === "string" || typeof value === "boolean")
    return undefined;
  if (typeof value === "number") return Number.isFinite(value) ? undefined : `${path} is ${value}`;
  if (typeof value !== "object") return `${path} is a ${typeof value}`;
  if (depth > MAX_DEPTH) return `${path} is nested deeper than ${MAX_DEPTH} levels, or within itself`;
  if (!Array.isArray(value) && !isPlain(value)) return `${path} is a ${value.constructor?.name ?? "class instance"}`;
  for (const [key, inner] of Object.entries(value)) {
    const problem = findNonPlain(inner, Array.isArray(value) ? `${path}[${key}]` : `${path}.${key}`, depth + 1);
    if (problem !== undefined) return problem;
  }
  return undefined;
};

/** The problem of a state, as words that follow the name of the function that returned it; undefined where there is none. */
export const stateError = (state: unknown): string | undefined => {
  const problem = findNonPlain(state, "state", 0);
  if (problem !== undefined) return `returned a state that is not plain data: ${problem}`;
  const characters = JSON.stringify(state).length;
  return characters <= MAX_STATE
    ? undefined
    : `returned a state of ${characterCount(characters)} characters of JSON; at most ${characterCount(MAX_STATE)} travel with a step`;
};

/** The problem of a text, as `stateError` gives that of a state. */
export const textError = (text: string): string | undefined =>
  text.length <= MAX_TEXT
    ? undefined
    : `returned a text of ${characterCount(text.length)} characters; at most ${characterCount(MAX_TEXT)} are taken`;

/** Makes a check that gives `stateError` for the states in the sample, and undefined for all others. */
export const sampledStateError = (): ((state: unknown) => string | undefined) => {
  let stateCount = 0;
  let nextChecked = 1;
  return (state) => {
    if (++stateCount < nextChecked) return undefined;
    const error = stateError(state);
    // After a refused state the next one is checked too.
    nextChecked = error === undefined ? nextChecked * 2 : stateCount + 1;
    return error;
  };
};
