/** A real nats-server with JetStream on its own port and disk, learners and workers as processes, and a check of their records. */
import { type ChildProcess, spawn } from "node:child_process";
import { existsSync } from "node:fs";
import { connect } from "node:net";
import { join } from "node:path";
import { Effect, Schedule } from "effect";
import { expect } from "vitest";
import { merge, type Tree } from "../../../src/config/Tree.ts";
import { freePortAbove } from "../../../src/support/http/freePort.ts";
import * as Trial from "../../chaos/Trial.ts";
import { temporaryFolder } from "../../temporaryFolder.ts";
import { books } from "./books.ts";

const root = new URL("../../..", import.meta.url).pathname;
const installed = join(process.env.MILLRACE_REMOTE ?? join(root, ".remote"), "nats", "nats-server");
const program = existsSync(installed) ? installed : "nats-server";

export interface Nats {
  readonly url: string;
  readonly port: number;
  /** Kills the server at once. */
  readonly kill: Effect.Effect<void>;
  /** Starts it again over what it has on disk. */
  readonly start: Effect.Effect<void>;
}

const answers = (port: number): Promise<void> =>
  new Promise((resolve, reject) => {
    const socket = connect(port, "127.0.0.1", () => {
      socket.destroy();
      resolve();
    });
    socket.on("error", reject);
  });

/** Suspends until something listens on the port. */
export const listening = (port: number) =>
  Effect.retry(
    Effect.tryPromise(() => answers(port)),
    Schedule.spaced("50 millis"),
  ).pipe(Effect.timeout("10 seconds"), Effect.orDie);

let next = 20_000 + (process.pid % 10_000);
export const freePort = Effect.promise(async () => {
  next = (await freePortAbove("127.0.0.1", next)) ?? next;
  return next;
});

/** Starts a server. `prepare` may return other arguments than its port and folder, such as a configuration file. */
export const nats = Effect.fnUntraced(function* (
  prepare: (port: number, store: string) => Effect.Effect<readonly string[]> = () => Effect.succeed([]),
  variables: Readonly<Record<string, string>> = {},
) {
  const store = yield* temporaryFolder;
  const port = yield* freePort;
  const prepared = yield* prepare(port, store);
  const words = prepared.length > 0 ? prepared : ["-js", "-sd", store, "-a", "127.0.0.1", "-p", `${port}`];
  let child: ChildProcess | undefined;
  const kill = Effect.promise(async () => {
    const gone = child;
    child = undefined;
    if (gone === undefined || gone.exitCode !== null) return;
    const ended = new Promise((resolve) => gone.once("close", resolve));
    gone.kill("SIGKILL");
    await ended;
  });
  const start = Effect.andThen(
    Effect.sync(() => {
      child = spawn(program, [...words], { stdio: "ignore", env: { ...process.env, ...variables } });
    }),
    listening(port),
  );
  yield* Effect.acquireRelease(start, () => kill);
  const server: Nats = { url: `nats://127.0.0.1:${port}`, port, kill, start };
  return server;
});

/** A run whose groups workers play, in a folder of its own. */
export const trial = (url: string, changes: Tree = {}) =>
  Trial.make(
    merge(
      {
        trainer: { total_training_steps: 60, val_before_train: false, save_freq: 10, trajectory_groups: 64 },
        es_manager: { train: { env_groups: 4, group_size: 4, n_groups: [4] } },
        pipeline: {
          mode: "async",
          max_staleness: 2,
          stop_deadline_ms: 5_000,
          workers: { url, lease_ms: 2_000, local: false },
        },
      },
      changes,
    ),
  );

/** A worker of the run `tiny`. */
export const worker = (name: string, trial: Trial.Trial, url: string, words: readonly string[] = [], variables = {}) =>
  Trial.millrace(
    ["worker", "--join", url, "--run", "tiny", "--name", name, "--cache", join(trial.dir, `cache-${name}`), ...words],
    undefined,
    variables,
  );

/** Expects a run's folder to have each group once. Returns the number of groups. */
export const countGroups = (folder: string): number => {
  const { groups, wrong } = books(folder);
  expect(wrong).toEqual([]);
  return groups;
};

/** The last record of a run. */
export const lastRecord = (folder: string): Readonly<Record<string, unknown>> =>
  Trial.linesOf(join(folder, "metrics.jsonl")).at(-1) ?? {};

/** Suspends until the run's last record meets the condition. */
export const recorded = (trial: Trial.Trial, condition: (record: Readonly<Record<string, unknown>>) => boolean) =>
  Effect.retry(
    Effect.suspend(() => {
      const folder = trial.folder();
      return folder !== null && condition(lastRecord(folder)) ? Effect.void : Effect.fail("not yet");
    }),
    Schedule.spaced("100 millis"),
  ).pipe(Effect.timeout("240 seconds"), Effect.orDie);

/** Suspends until the run has made so many steps. */
export const steps = (trial: Trial.Trial, count: number) => recorded(trial, ({ step }) => Number(step) >= count);
