/**
 * Serves the page of a run from a child process of the run, so that browsers cannot slow the run down and a terminal's signals do
 * not reach the page. The run never waits for the child, which outlives it until browsers have the end.
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
  /** `near`: the usual port, or the next free one. */
  readonly port: number | "near";
  /** True if the output goes to a terminal, which may show the token. */
  readonly terminal: boolean;
}

/** The line for the user. On a terminal it carries the token, and must go nowhere else. */
export interface RunPage {
  readonly url: string;
  readonly line: string;
}

/** Milliseconds after which a child that has not reported its address counts as failed. */
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

/** Tells the child that the run ends, and releases it so that it does not keep the run's process alive. */
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

/** Serves the page of a run until the scope closes. A taken port is BadInput that names the next free one. */
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
  // From here on the child may end or fail without the run taking notice.
  child.on("error", () => undefined);
  if ("listenFailed" in message) return yield* listenError(new ListenFailed(message.listenFailed), "--watch");
  if ("refused" in message) return yield* new BadInput({ message: message.refused });
  const { token, tokenFile, url } = message;
  if (token !== null) return { url, line: `page: ${url}/#token=${token}` };
  return { url, line: `page: ${url}/${tokenFile === null ? "" : `; the token for controls is in ${tokenFile}`}` };
});
