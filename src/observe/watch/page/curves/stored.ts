/** The reader's choice of metrics and settings, kept in this browser. What cannot be read is as good as never chosen. */

const key = (name: string): string => `millrace.curves.${name}`;

export const stored = <A>(name: string): A | null => {
  try {
    return JSON.parse(localStorage.getItem(key(name)) ?? "null") as A | null;
  } catch {
    return null;
  }
};

export const store = (name: string, value: unknown): void => localStorage.setItem(key(name), JSON.stringify(value));
