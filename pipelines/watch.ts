/**
 * `millrace watch`: serves the page on runs until a signal ends it. Controls need a token, which is given or made here. Invariant: a token that
 * was made is shown on a terminal only, as part of the page's address, and is otherwise in a file that the user alone can read.
 */
import { randomBytes } from "node:crypto";
import { chmod, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Console, Effect } from "effect";
import { BadInput } from "../src/domain/Errors.ts";
import { isLoopback } from "../src/http/Guard.ts";
import { Stop } from "../src/process/Stop.ts";
import { serve } from "../src/watch/server/WatchServer.ts";
import { howToMake, loopback, tokenFrom, tokenVariable, unusable } from "./listening.ts";
import { shownRun } from "./paths.ts";

export interface WatchOptions {
  readonly runs: readonly string[];
  readonly host: string;
  readonly port: number;
  readonly tokenFile: string | null;
}

/** 256 bits. */
export const makeToken = (): string => randomBytes(32).toString("base64url");

/** A file with the token, for the user alone, while the scope lives. */
export const keptToken = (token: string) =>
  Effect.map(
    Effect.acquireRelease(
      Effect.promise(async () => {
        const folder = await mkdtemp(join(tmpdir(), "millrace-watch-"));
        await chmod(folder, 0o700);
        await writeFile(join(folder, "token"), `${token}\n`, { mode: 0o600, flag: "wx" });
        return folder;
      }),
      (folder) => Effect.promise(() => rm(folder, { recursive: true, force: true })),
    ),
    (folder) => join(folder, "token"),
  );

const given = Effect.fnUntraced(function* ({ host, tokenFile }: WatchOptions) {
  const token = yield* tokenFrom(tokenFile);
  const wide = !isLoopback(host);
  if (wide && token === null) {
    const message =
      `--host: ${JSON.stringify(host)} is open to other machines, so browsers must send a token: set ${tokenVariable} or ` +
      `--token-file (${howToMake}); nearest without one: ${loopback}`;
    return yield* new BadInput({ message });
  }
  return { token, wide };
});

export const watch = Effect.fn("pipelines.watch")(function* (options: WatchOptions) {
  const runs = yield* Effect.forEach(options.runs, (run) => shownRun("RUN", run));
  const { token: known, wide } = yield* given(options);
  const token = known ?? makeToken();
  const stop = yield* Stop;
  const serving = serve({ runs, host: options.host, port: options.port, token, wide });
  const { ids, url } = yield* Effect.catchTag(serving, "ListenFailed", unusable);
  const shows = ids.length === 1 ? ids.join("") : `${ids.length} runs`;
  if (known === null && process.stdout.isTTY) {
    yield* Console.log(`${shows}: ${url}/#token=${token}\nCtrl-C ends it`);
  } else {
    const where = known === null ? `; the token for controls is in ${yield* keptToken(token)}` : "";
    yield* Console.log(`${shows}: ${url}/${where}`);
  }
  if (wide) {
    yield* Console.error(
      `${options.host} is not this machine alone, and HTTP is not encrypted: whoever sees the token may steer the runs`,
    );
  }
  yield* stop.requested;
}, Effect.scoped);
