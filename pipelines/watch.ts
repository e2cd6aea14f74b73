/**
 * `millrace watch`: serves the page on runs until a signal ends it. Controls need a token, which is given or made here. Invariant: a token that
 * was made is shown on a terminal only, as part of the page's address, and is otherwise in a file that the user alone can read.
 */
import { existsSync } from "node:fs";
import { resolve } from "node:path";
import { Console, Effect } from "effect";
import { isRunFolder, runsBelow, runsIn } from "../src/observe/record/RunFolders.ts";
import { makeToken, writeTokenFile } from "../src/observe/watch/server/token.ts";
import { serveWatch } from "../src/observe/watch/server/WatchServer.ts";
import { accessOf, listenError } from "../src/support/http/serverFlags.ts";
import { Stop } from "../src/support/process/Stop.ts";
import { namedRun } from "./namedRun.ts";

export interface WatchOptions {
  readonly runs: readonly string[];
  readonly host: string;
  readonly port: number;
  readonly tokenFile: string | null;
}

/** True for a folder with runs of several names, such as `runs` or a sweep's folder. */
const holdsNames = (folder: string): boolean =>
  existsSync(folder) && !isRunFolder(folder) && runsIn(folder).length === 0 && runsBelow(folder).length > 0;

export const watch = Effect.fn("pipelines.watch")(function* (options: WatchOptions) {
  const below = options.runs.map((run) => resolve(run)).filter(holdsNames);
  const named = options.runs.filter((run) => !below.includes(resolve(run)));
  const runs = yield* Effect.forEach(named, (run) => namedRun("RUN", run));
  const { isPublic, token: givenToken } = yield* accessOf(options, "browsers");
  const token = givenToken ?? makeToken();
  const stop = yield* Stop;
  const serving = serveWatch({ runs, below, host: options.host, port: options.port, token, isPublic });
  const { ids, url } = yield* Effect.catchTag(serving, "ListenFailed", listenError);
  const shows = ids.length === 1 ? ids.join("") : `${ids.length} runs`;
  if (givenToken === null && process.stdout.isTTY) {
    yield* Console.log(`${shows}: ${url}/#token=${token}\nCtrl-C ends it`);
  } else {
    const where = givenToken === null ? `; the token for controls is in ${yield* writeTokenFile(token)}` : "";
    yield* Console.log(`${shows}: ${url}/${where}`);
  }
  if (isPublic) {
    yield* Console.error(
      `${options.host} is not this machine alone, and HTTP is not encrypted: whoever sees the token may steer the runs`,
    );
  }
  yield* stop.requested;
}, Effect.scoped);
