/** The terminal as the console sinks see it. Invariant: a hidden cursor is shown again however the process exits. */
import process from "node:process";

export interface Terminal {
  readonly write: (text: string) => void;
  readonly columns: () => number;
  readonly rows: () => number;
  /** Whether lines can be redrawn. */
  readonly live: boolean;
  readonly colour: boolean;
  /** Whether block and line characters can be shown. */
  readonly unicode: boolean;
  readonly hideCursor: () => void;
  readonly showCursor: () => void;
}

type Environment = Readonly<Record<string, string | undefined>>;

/** Whether the locale is UTF-8, by the variable that decides it. */
export const isUnicode = (env: Environment, platform: string): boolean => {
  if (platform === "win32") return env.WT_SESSION !== undefined || env.TERM_PROGRAM === "vscode";
  const locale = env.LC_ALL || env.LC_CTYPE || env.LANG || "";
  return platform === "darwin" && locale === "" ? true : /utf-?8/i.test(locale);
};

/** This process's standard output. */
export const stdout = (): Terminal => {
  const { env, stdout: out } = process;
  const live = out.isTTY === true && env.TERM !== "dumb";
  const show = (): void => void out.write("\x1b[?25h");
  return {
    write: (text) => void out.write(text),
    columns: () => out.columns ?? 100,
    rows: () => out.rows ?? 30,
    live,
    colour: live && !env.NO_COLOR,
    unicode: isUnicode(env, process.platform),
    hideCursor: () => {
      process.once("exit", show);
      out.write("\x1b[?25l");
    },
    showCursor: () => {
      process.off("exit", show);
      show();
    },
  };
};
