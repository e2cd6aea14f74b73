/**
 * A run of the command line in a process of its own, to be disturbed: a random model of two layers on FrozenLake, steps of some 50 ms. Its
 * folder is temporary and goes with the scope.
 */
import { type ChildProcess, spawn } from "node:child_process";
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { Effect } from "effect";
import { render } from "../../src/config/render.ts";
import { merge, type Tree } from "../../src/config/Tree.ts";
import { tinyConfig } from "../build/tinyConfig.ts";
import { writeModel } from "../pipelines/tiny.ts";
import { temporaryFolder } from "../temporaryFolder.ts";
import type { Fault } from "./faultyDisk.ts";

const root = new URL("../..", import.meta.url).pathname;
const bin = join(root, "pipelines", "millrace.mjs");
const preload = new URL("./faultyDisk.ts", import.meta.url).href;

/** The end of a process: its exit code or signal, and its whole output. */
export interface Ended {
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
  readonly stdout: string;
  readonly stderr: string;
  readonly ms: number;
}

export interface Started {
  readonly child: ChildProcess;
  readonly ended: Promise<Ended>;
}

/** Starts the command line; ends with the scope. */
export const millrace = (words: readonly string[], fault?: Fault, variables: Readonly<Record<string, string>> = {}) =>
  Effect.acquireRelease(
    Effect.sync((): Started => {
      const begun = performance.now();
      const disk = fault === undefined ? {} : { MILLRACE_DISK: JSON.stringify(fault) };
      const flags = fault === undefined ? [] : ["--import", preload];
      const child = spawn(process.execPath, [...flags, bin, ...words], {
        env: { ...process.env, ...disk, ...variables },
        cwd: root,
      });
      const said = { stdout: "", stderr: "" };
      for (const name of ["stdout", "stderr"] as const) {
        child[name].setEncoding("utf8").on("data", (text: string) => {
          said[name] += text;
        });
      }
      const ended = new Promise<Ended>((resolve) =>
        child.on("close", (code, signal) => resolve({ code, signal, ...said, ms: performance.now() - begun })),
      );
      return { child, ended };
    }),
    ({ child, ended }) =>
      Effect.promise(() => {
        child.kill("SIGKILL");
        return ended;
      }),
  );

/** Resolves once the process has printed a line that holds `text`, or has ended. */
export const said = ({ child, ended }: Started, text: string) =>
  Effect.promise(() => {
    let all = "";
    const heard = new Promise<void>((resolve) =>
      child.stdout?.on("data", (part: string) => {
        all += part;
        if (all.includes(text)) resolve();
      }),
    );
    return Promise.race([heard, ended]);
  });

/** True for V8's own abort while threads start, which says nothing about the run (nodejs/node issue 64500). */
const isAbortOfV8 = ({ code, stderr }: Ended): boolean => code === null && stderr.includes("jit_page.has_value()");

/** Processes that V8 aborted and that were started again. */
let aborts = 0;

/** Starts a process by `once` and gives its end. Where V8 aborted it, that is printed and `once` is done again. */
export const unlessAborted = <A extends Ended, E, R>(once: Effect.Effect<A, E, R>): Effect.Effect<A, E, R> =>
  Effect.flatMap(once, (ended) => {
    if (!isAbortOfV8(ended)) return Effect.succeed(ended);
    aborts++;
    console.log(`V8 aborted a process, and another is started for it; ${aborts} in this file so far`);
    return once;
  });

/** Runs the command line to its end, once more if V8 aborted it. */
export const outcome = (words: readonly string[], fault?: Fault, variables?: Readonly<Record<string, string>>) =>
  unlessAborted(
    Effect.scoped(Effect.flatMap(millrace(words, fault, variables), ({ ended }) => Effect.promise(() => ended))),
  );

export interface Trial {
  readonly dir: string;
  /** The run file. */
  readonly file: string;
  /** The newest run folder, or null. */
  readonly folder: () => string | null;
  /** Words that start a new run. */
  readonly fresh: readonly string[];
  /** Words that go on with the newest run folder. */
  readonly resume: () => readonly string[];
}

const usual: Tree = {
  trainer: {
    total_training_steps: 12,
    save_freq: 1,
    max_checkpoints: 2,
    trajectory_freq: 1,
    trajectory_groups: 8,
    val_before_train: true,
  },
  es_manager: { val: { env_groups: 2, n_groups: [2] } },
  pipeline: { step_inline: false, stop_deadline_ms: 1_000 },
  metrics: { console: "plain" },
};

/** The newest run folder of a name, or null. */
export const newestIn = (parent: string): string | null => {
  const newest = (existsSync(parent) ? readdirSync(parent) : []).sort().at(-1);
  return newest === undefined ? null : join(parent, newest);
};

/** A run file under `changes`, with its model, in a folder of its own. */
export const make = Effect.fnUntraced(function* (changes: Tree = {}) {
  const dir = yield* temporaryFolder;
  yield* writeModel(dir);
  const file = join(dir, "run.yaml");
  yield* Effect.promise(() => writeFile(file, render(tinyConfig(dir, merge(usual, changes)))));
  const parent = join(dir, "runs", "tiny");
  const folder = () => newestIn(parent);
  const trial: Trial = {
    dir,
    file,
    folder,
    fresh: ["train", "--config-name", file],
    resume: () => ["train", "--resume", folder() ?? dir],
  };
  return trial;
});

/** Objects of a log, one a line; throws where a line is none. With `endsInPart` a last line without its end is left out. */
export const linesOf = (path: string, { endsInPart = false } = {}): readonly Record<string, unknown>[] => {
  if (!existsSync(path)) return [];
  const lines = readFileSync(path, "utf8").split("\n");
  return (endsInPart ? lines.slice(0, -1) : lines)
    .filter((line) => line !== "")
    .map((line): Record<string, unknown> => JSON.parse(line));
};

/** Steps that have a checkpoint under its final name, ascending. */
export const checkpointsOf = (folder: string): readonly number[] => {
  const path = join(folder, "checkpoints");
  if (!existsSync(path)) return [];
  return readdirSync(path)
    .flatMap((name) => /^step-(\d+)$/.exec(name)?.[1] ?? [])
    .map(Number)
    .sort((a, b) => a - b);
};
