/**
 * An error as plain data that crosses a thread's port, with its name, code, message, stack and causes, and the error rebuilt from it.
 * The structured clone of an Error would drop own properties and class names.
 * Invariant: stacks are those of the thread that threw.
 */

export interface PortableError {
  readonly name: string;
  readonly code?: string;
  readonly message: string;
  readonly stack?: string;
  readonly cause?: PortableError;
}

/** Causes kept below the first error; a chain may be a circle. */
const MAX_CAUSES = 8;

const asError = (thrown: unknown): Error => (thrown instanceof Error ? thrown : new Error(String(thrown)));

/** Turns a thrown value into data. */
export const toPortable = (thrown: unknown, depth = 0): PortableError => {
  const error = asError(thrown);
  const { cause, message, name, stack } = error;
  return {
    name,
    message,
    ...("code" in error && typeof error.code === "string" && { code: error.code }),
    ...(stack !== undefined && { stack }),
    ...(cause !== undefined && depth < MAX_CAUSES && { cause: toPortable(cause, depth + 1) }),
  };
};

/** Rebuilds an error from its data. */
export const fromPortable = ({ cause, code, message, name, stack }: PortableError): Error => {
  const error = new Error(message, cause === undefined ? {} : { cause: fromPortable(cause) });
  const described = { name, stack, ...(code !== undefined && { code }) };
  for (const [key, value] of Object.entries(described))
    Object.defineProperty(error, key, { value, configurable: true, writable: true });
  return error;
};
