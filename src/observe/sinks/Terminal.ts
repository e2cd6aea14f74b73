/**
 * The terminal as the console sinks see it. Invariants: a hidden cursor is shown again however the process exits; once the output is broken,
 * writing to it does nothing.
 */
import process from "node:process";
import { Effect } from "effect";
import { SinkError } from "./Sink.ts";

export interface Terminal {
  readonly write: (text: string) => void;
  /** The reason why the output is broken, or null. */
  readonly broken: () => string | null;
  readonly columns: () => number;
  readonly rows: () => number;
  /** True if lines can be redrawn. */
  readonly live: boolean;
  readonly colour: boolean;
  /** True if block and line characters can be shown. */
  readonly unicode: boolean;
  readonly hideCursor: () => void;
  readonly showCursor: () => void;
}

type Environment = Readonly<Record<string, string | undefined>>;

/** True for a UTF-8 locale, by the variable that decides it. */
export const isUnicode = (env: Environment, platform: string): boolean => {
  if (platform === "win32") return env.WT_SESSION !== undefined || env.TERM_PROGRAM === "vscode";
  const locale = env.LC_ALL || env.LC_CTYPE || env.LANG || "";
  return platform === "darwin" && locale === "" ? true : /utf-?8/i.test(locale);
};

/** Streams with their failures. Each stream has one listener. */
const failures = new WeakMap<NodeJS.WriteStream, { reason: string | null }>();

const failureOf = (out: NodeJS.WriteStream): { readonly reason: string | null } => {
  const existing = failures.get(out);
  if (existing !== undefined) return existing;
  const failure: { reason: string | null } = { reason: null };
  failures.set(out, failure);
  out.on("error", ({ code, message }: NodeJS.ErrnoException) => {
    failure.reason ??= code === "EPIPE" ? "nobody reads standard output any more" : message;
  });
  return failure;
};

/** This process's standard output. */
export const stdout = (): Terminal => {
  const { env, stdout: out } = process;
  const live = out.isTTY === true && env.TERM !== "dumb";
  const failure = failureOf(out);
  const write = (text: string): void => {
    if (failure.reason === null) out.write(text);
  };
  const show = (): void => write("\x1b[?25h");
  return {
    write,
    broken: () => failure.reason,
    columns: () => out.columns ?? 100,
    rows: () => out.rows ?? 30,
    live,
    colour: live && !env.NO_COLOR,
    unicode: isUnicode(env, process.platform),
    hideCursor: () => {
      process.once("exit", show);
      write("\x1b[?25l");
    },
    showCursor: () => {
      process.off("exit", show);
      show();
    },
  };
};

/** Fails once the terminal is broken, which switches its sink off. */
export const checkUsable = ({ broken }: Pick<Terminal, "broken">): Effect.Effect<void, SinkError> =>
  Effect.suspend(() => {
    const message = broken();
    return message === null ? Effect.void : Effect.fail(new SinkError({ sink: "console", message }));
  });
