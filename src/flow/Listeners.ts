/** Listeners that are called with each value of one kind, in order. Invariant: a listener that throws keeps no value from the others. */

export type Unsubscribe = () => void;

/** Registers a listener; the function that it returns ends that. */
export type Subscribe<out A> = (listener: (value: A) => void) => Unsubscribe;

export class Listeners<in out A> {
  readonly #listeners = new Set<(value: A) => void>();

  readonly subscribe: Subscribe<A> = (listener) => {
    // Listening twice with one function makes two entries.
    const wrapped = (value: A): void => listener(value);
    this.#listeners.add(wrapped);
    return () => void this.#listeners.delete(wrapped);
  };

  /** Calls every listener; then throws what the first of them threw, if one did. */
  notify(value: A): void {
    if (this.#listeners.size === 0) return;
    const errors: unknown[] = [];
    for (const listener of this.#listeners) {
      try {
        listener(value);
      } catch (error) {
        errors.push(error);
      }
    }
    if (errors.length > 0) throw errors[0];
  }
}
