/**
 * The page of a run from a process of its own, started by the run: browsers cannot slow the run down, and a terminal's signals do not reach it.
 * The run never waits for it: the child outlives the run until browsers have the end, as main.ts says.
 */
import { type ChildProcess, fork } from "node:child_process";
import { Effect, Option, type Scope } from "effect";
import { BadInput } from "../../../domain/Errors.ts";
import { ListenFailed } from "../../../support/http/listen.ts";
import { listenError } from "../../../support/http/serverFlags.ts";
import { decodePageMessage, type PageMessage, type RunMessage } from "./messages.ts";

export interface PageOptions {
  /** The run's folder. */
  readonly folder: string;
  /** `near`: the usual one, or the next that is free. */
  readonly port: number | "near";
  /** Whether what is printed goes to a terminal, which may show the token. */
  readonly terminal: boolean;
}

/** One line for the user. On a terminal it bears the token, and belongs nowhere else. */
export interface RunPage {
  readonly url: string;
  readonly line: string;
}

/** A child that has not said where it serves by then does not come to it. */
const START_MS = 20_000;

const file = new URL("./main.ts", import.meta.url);

const firstMessage = (child: ChildProcess): Effect.Effect<PageMessage, BadInput> =>
  Effect.callback<PageMessage, BadInput>((resume) => {
    const failed = (why: string) => resume(Effect.fail(new BadInput({ message: `--watch: the page ${why}` })));
    child.once("error", ({ message }) => failed(`could not be started: ${message}`));
    child.once("exit", (code) => failed(`ended before it was there (${code})`));
    child.once("message", (message) => {
      const said = decodePageMessage(message);
      if (Option.isSome(said)) resume(Effect.succeed(said.value));
      else failed("said something else than where it is");
    });
  });

/** Tells the child that the run ends, and lets go of it: it must not keep the run's process alive. */
const release = (child: ChildProcess): Effect.Effect<void> =>
  Effect.callback<void>((resume) => {
    const letGo = (): void => {
      if (child.connected) child.disconnect();
      child.unref();
      resume(Effect.void);
    };
    if (child.connected) child.send({ ended: true } satisfies RunMessage, letGo);
    else letGo();
  });

/** Serves the page of a run, which ends with the scope. A port that is taken is bad input that names the next free one. */
export const servePage = Effect.fnUntraced(function* (
  options: PageOptions,
): Effect.fn.Return<RunPage, BadInput, Scope.Scope> {
  const child = yield* Effect.acquireRelease(
    Effect.sync(() => fork(file, { detached: true, execArgv: [], stdio: ["ignore", "ignore", "ignore", "ipc"] })),
    release,
  );
  child.send({ ...options } satisfies RunMessage);
  const message = yield* Effect.timeoutOrElse(firstMessage(child), {
    duration: START_MS,
    orElse: () => Effect.fail(new BadInput({ message: `--watch: the page was not there after ${START_MS} ms` })),
  });
  // From here on it may end, or fail, without the run taking notice.
  child.on("error", () => undefined);
  if ("listenFailed" in message) return yield* listenError(new ListenFailed(message.listenFailed), "--watch");
  if ("refused" in message) return yield* new BadInput({ message: message.refused });
  const { token, tokenFile, url } = message;
  if (token !== null) return { url, line: `page: ${url}/#token=${token}` };
  return { url, line: `page: ${url}/${tokenFile === null ? "" : `; the token for controls is in ${tokenFile}`}` };
});
