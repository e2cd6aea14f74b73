/** Light or dark: the system's choice until the reader makes one, which is kept in this browser. */

const KEY = "millrace.theme";
export type Theme = "light" | "dark";

const system = (): Theme => (matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light");

export const current = (): Theme => {
  const chosen = localStorage.getItem(KEY);
  return chosen === "light" || chosen === "dark" ? chosen : system();
};

export const apply = (theme: Theme): void => {
  document.documentElement.dataset.theme = theme;
};

export const choose = (theme: Theme): void => {
  localStorage.setItem(KEY, theme);
  apply(theme);
};

/** The colour for a canvas, resolved from a value that may be a variable of the theme. */
export const painted = (written: string): string => {
  const [, name] = /^var\((--[\w-]+)\)$/.exec(written) ?? [];
  return name === undefined ? written : colour(name);
};

/** A colour of the style sheet, by the name of its variable. */
export const colour = (name: string): string =>
  getComputedStyle(document.documentElement).getPropertyValue(name).trim();
