/**
 * A run's folder, `runs/<name>/<yyyymmdd-hhmmss>/`: the resolved configuration, metrics, sampled trajectories and checkpoints. A
 * folder that cannot be written is BadInput, reported before anything else starts.
 */
import { existsSync } from "node:fs";
import { access, appendFile, constants, mkdir, readdir, rm, rmdir, stat, writeFile } from "node:fs/promises";
import { dirname, join, resolve } from "node:path";
import { Context, DateTime, Effect, Schema, type Scope } from "effect";
import { BadInput } from "../../domain/Errors.ts";
import { replaceText } from "../../support/files/AtomicWrite.ts";
import * as JsonLines from "../../support/files/JsonLines.ts";

export class RunFolder extends Context.Service<
  RunFolder,
  {
    readonly path: string;
    readonly checkpoints: string;
    readonly metrics: string;
    readonly trajectories: string;
    readonly trajectoriesIndex: string;
    readonly events: string;
    readonly eventsIndex: string;
    readonly validations: string;
    readonly replies: string;
  }
>()("millrace/engine/RunFolder") {}

type Paths = typeof RunFolder.Service;

/** The folder of a running run was removed. */
export class RunFolderGone extends Schema.TaggedError<RunFolderGone>()("RunFolderGone", { message: Schema.String }) {}

/** Returns `error`, or `RunFolderGone` if the folder at `path` has lost its configuration, which no run removes. */
export const goneOr = <E>(path: string, error: E): E | RunFolderGone =>
  existsSync(join(path, "config.yaml"))
    ? error
    : new RunFolderGone({
        message: `${path}: the run's folder was removed while the run went on; nothing of it is kept`,
      });

/** Fails with `RunFolderGone` if the folder at `path` has lost its configuration. */
export const checkExists = (path: string): Effect.Effect<void, RunFolderGone> =>
  Effect.suspend(() => {
    const gone = goneOr(path, null);
    return gone === null ? Effect.void : Effect.fail(gone);
  });

const attempt = <A>(what: string, path: string, run: () => Promise<A>): Effect.Effect<A, BadInput> =>
  Effect.tryPromise({
    try: run,
    catch: (cause) =>
      new BadInput({ message: `cannot ${what} ${path}: ${cause instanceof Error ? cause.message : String(cause)}` }),
  });

const pathsIn = (path: string): Paths => ({
  path,
  checkpoints: join(path, "checkpoints"),
  metrics: join(path, "metrics.jsonl"),
  trajectories: join(path, "trajectories.jsonl"),
  trajectoriesIndex: join(path, "trajectories.index.jsonl"),
  events: join(path, "events.jsonl"),
  eventsIndex: join(path, "events.index.jsonl"),
  validations: join(path, "validations.jsonl"),
  replies: join(path, "replies"),
});

/** The logs of lines, which a run appends to and a resumed one cuts. */
const logsOf = (folder: Paths): readonly string[] => [
  folder.metrics,
  folder.trajectories,
  folder.trajectoriesIndex,
  folder.validations,
  folder.events,
  folder.eventsIndex,
];

/** Formats a time as `20261121-143005` in UTC. */
export const timeStamp = (millis: number): string => {
  const iso = DateTime.formatIso(DateTime.makeUnsafe(millis));
  return `${iso.slice(0, 4)}${iso.slice(5, 7)}${iso.slice(8, 10)}-${iso.slice(11, 13)}${iso.slice(14, 16)}${iso.slice(17, 19)}`;
};

/**
 * Makes a folder and its missing parents, and returns these, the innermost first. It goes one by one, because Node's recursive
 * `mkdir` does not end on a file system that takes no folders (/proc).
 */
const makeFolders = async (path: string): Promise<readonly string[]> => {
  if (existsSync(path)) return [];
  const above = await makeFolders(dirname(path));
  await mkdir(path).catch((cause: NodeJS.ErrnoException) => {
    if (cause.code !== "EEXIST") throw cause;
  });
  return [path, ...above];
};

/** A folder that was made for a new run, with its newly made parents, the innermost first. */
export interface NewFolder extends Paths {
  readonly createdParents: readonly string[];
}

const stamped = /^(\d{8}-\d{6})(?:-(\d{1,9}))?$/;

/**
 * The `n`-th free name for a new run: its time stamp, then `-2`, `-3`, … for more runs of one second. If the clock was set back,
 * the name continues the newest existing stamp. So the newest run is always the last by its name.
 */
const stampedName = (millis: number, names: readonly string[], n: number): string => {
  const now = timeStamp(millis);
  let [last, count] = [now, 0];
  for (const name of names) {
    const [, time = "", ordinal = "1"] = stamped.exec(name) ?? [];
    if (time > last) [last, count] = [time, Number(ordinal)];
    else if (time === last) count = Math.max(count, Number(ordinal));
  }
  const at = count + n;
  return at === 1 ? last : `${last}-${at}`;
};

/** Removes the folder of a run that did not begin, and its newly made parents if they are empty. */
const discard = ({ createdParents, path }: NewFolder): Effect.Effect<void> =>
  Effect.promise(async () => {
    try {
      await rm(path, { recursive: true, force: true });
      for (const folder of createdParents) await rmdir(folder);
    } catch {
      // A folder that cannot be removed, or that another run uses by now, stays.
    }
  });

/**
 * Makes a new folder, the last of its parent by name. Fails with BadInput if it cannot be made. An interruption waits until it stands whole,
 * so that whoever asked for it can remove it.
 */
export const create = Effect.fnUntraced(function* (dir: string, name: string, resolvedConfig: string) {
  const parent = join(dir, name);
  const above = yield* attempt("make the run folder", parent, () => makeFolders(resolve(parent)));
  const { epochMilliseconds } = yield* DateTime.now;
  const names = yield* attempt("read", parent, () => readdir(parent));
  let path = "";
  for (let n = 1; ; n++) {
    const candidate = join(parent, stampedName(epochMilliseconds, names, n));
    const isCreated = yield* attempt("make the run folder", candidate, () =>
      mkdir(candidate).then(
        () => true,
        (cause: NodeJS.ErrnoException) => {
          if (cause.code === "EEXIST") return false;
          throw cause;
        },
      ),
    );
    path = candidate;
    if (isCreated) break;
  }
  const folder: NewFolder = { ...pathsIn(path), createdParents: above };
  const filled = Effect.gen(function* () {
    yield* attempt("write", join(path, "config.yaml"), () => writeFile(join(path, "config.yaml"), resolvedConfig));
    yield* attempt("make", folder.checkpoints, () => mkdir(folder.checkpoints));
  });
  yield* Effect.onError(filled, () => discard(folder));
  return folder;
}, Effect.uninterruptible);

/** The place of a new run among others, and what its configuration says. */
export interface NewRun {
  readonly dir: string;
  readonly name: string;
  readonly resolvedConfig: string;
}

/** Makes a new folder. It is removed when the scope closes, unless the run in it `hasBegun` by then. */
export const createScoped = (
  { dir, name, resolvedConfig }: NewRun,
  hasBegun: (folder: NewFolder) => boolean,
): Effect.Effect<NewFolder, BadInput, Scope.Scope> =>
  Effect.acquireRelease(create(dir, name, resolvedConfig), (folder) =>
    hasBegun(folder) ? Effect.void : discard(folder),
  );

/** Rejects if `path` exists and is not a regular file that can be read and written. */
const checkLog = async (path: string): Promise<void> => {
  if (!existsSync(path)) return;
  if (!(await stat(path)).isFile()) throw new Error("it is no regular file");
  await access(path, constants.R_OK | constants.W_OK);
};

/**
 * Opens an existing folder to resume in and leaves it as it is. Fails with BadInput if it is not a run's folder or cannot be
 * written.
 */
export const open = Effect.fnUntraced(function* (path: string) {
  const folder = pathsIn(path);
  const written = join(path, "config.yaml");
  yield* attempt("resume from", written, () => access(written, constants.R_OK));
  yield* attempt("write to", path, () => access(path, constants.W_OK));
  for (const log of logsOf(folder)) {
    yield* attempt("go on with", log, () => checkLog(log));
  }
  return folder;
});

/** Replaces the folder's configuration with the one that a resumed run uses. */
export const replaceConfig = ({ path }: Paths, resolvedConfig: string): Effect.Effect<void, BadInput> =>
  replaceText(join(path, "config.yaml"), resolvedConfig).pipe(
    Effect.mapError(
      ({ message }) => new BadInput({ message: `cannot write ${join(path, "config.yaml")}: ${message}` }),
    ),
  );

/** Makes the parent folder of `path`. Fails with BadInput if it cannot be made or written. */
export const makeParent = Effect.fnUntraced(function* (path: string) {
  const parent = dirname(path);
  yield* attempt("make", parent, () => mkdir(parent, { recursive: true }));
  yield* attempt("write to", parent, () => access(parent, constants.W_OK));
});

/**
 * Cuts off the lines of steps after `step`, which a resumed run writes again. The sink of metrics.jsonl cuts its own file.
 */
export const truncateLogs = (logs: readonly string[], step: number): Effect.Effect<void, BadInput> =>
  Effect.forEach(
    logs,
    (path) =>
      Effect.flatMap(
        attempt("trim", path, () => JsonLines.truncateAfterStep(path, step)),
        (lines) => (lines === 0 ? Effect.void : Effect.logWarning(JsonLines.setAsideMessage(path, lines))),
      ),
    { discard: true },
  );

/** Removes the logs of a run that begins again at its first step. */
export const removeLogs = (folder: Paths): Effect.Effect<void, BadInput> =>
  Effect.forEach(logsOf(folder), (path) => attempt("remove", path, () => rm(path, { force: true })), { discard: true });

/** Cuts off the recorded episodes of steps after `step`. */
export const truncateEpisodes = ({ trajectories, trajectoriesIndex, validations }: Paths, step: number) =>
  truncateLogs([trajectories, trajectoriesIndex, validations], step);

/** Appends one JSON object as a line. */
export const appendLine = (path: string, value: unknown): Effect.Effect<void, BadInput> =>
  attempt("write", path, () => appendFile(path, `${JSON.stringify(value)}\n`));
