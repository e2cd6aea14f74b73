/**
 * Measures what a user waits for: the list of commands, and of the quickstart its first line, first group and first update, each from the start
 * of the process. The checkout is measured, and the built package where `npm run build` has made it; with compiled code kept, and as on a fresh
 * clone. MILLRACE_CHECKOUT names another checkout to compare with.
 */
import { type ChildProcess, spawn } from "node:child_process";
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { allocating } from "../pipelines/launcher.mjs";
import { type Bench, type Figure, figureOf, type Measured } from "./Bench.ts";
import { samplesOf } from "./samples.ts";

const root = resolve(process.env.MILLRACE_CHECKOUT ?? join(import.meta.dirname, ".."));

/** Runs that count, of each kind. */
const RUNS = 5;
/** Milliseconds between looks at the record of a run. */
const LOOK_MS = 10;
/** Milliseconds after which a run is given up. */
const LATEST_MS = 120_000;

/** Seconds from the start of a process to a moment, and the processor seconds that it had used by then (NaN where the system does not tell). */
interface Moment {
  readonly wall: number;
  readonly cpu: number;
}

type Moments = Readonly<Record<"first line" | "first group" | "first update", Moment>>;

const entries = [
  { name: "checkout", path: join(root, "pipelines/millrace.mjs") },
  { name: "package", path: join(root, "dist/pipelines/cli.js") },
].filter(({ path }) => existsSync(path));

const started = (path: string, words: readonly string[], cache: string) =>
  spawn(process.execPath, [path, ...words], {
    env: { ...(allocating(process.platform, process.env) ?? process.env), NODE_COMPILE_CACHE: cache },
    stdio: ["ignore", "pipe", "ignore"],
  });

/** Linux counts in hundredths of a second. */
const cpuOf = ({ pid }: ChildProcess): number => {
  try {
    const fields = readFileSync(`/proc/${pid}/stat`, "utf8").split(") ")[1]!.split(" ");
    return (Number(fields[11]) + Number(fields[12])) / 100;
  } catch {
    return Number.NaN;
  }
};

const clockOf = (child: ChildProcess) => {
  const start = performance.now();
  return (): Moment => ({ wall: (performance.now() - start) / 1000, cpu: cpuOf(child) });
};

const exited = (child: ChildProcess): Promise<unknown> => new Promise((end) => child.once("exit", end));

/** The text of the record below a folder of runs; empty while there is none. */
const recordIn = (folder: string): string => {
  const file = readdirSync(folder, { recursive: true }).find((name) => String(name).endsWith("events.jsonl"));
  return file === undefined ? "" : readFileSync(join(folder, String(file)), "utf8");
};

/** Starts the quickstart, notes its moments and kills it. */
const timeRun = async (path: string, cache: string, folder: string): Promise<Moments> => {
  const child = started(path, ["train", "--config-name", "quickstart", `run.dir=${folder}`], cache);
  const now = clockOf(child);
  const moments: Partial<Record<keyof Moments, Moment>> = {};
  child.stdout.once("data", () => {
    moments["first line"] = now();
  });
  child.stdout.resume();
  const ended = exited(child);
  while (moments["first update"] === undefined) {
    await sleep(LOOK_MS);
    const text = recordIn(folder);
    if (text.includes('"_tag":"Finished"')) moments["first group"] ??= now();
    if (text.includes('"_tag":"Updated"')) moments["first update"] = now();
    if (child.exitCode !== null || now().wall * 1000 > LATEST_MS) break;
  }
  child.kill("SIGKILL");
  await ended;
  const { "first group": group, "first line": line, "first update": update } = moments;
  if (line === undefined || group === undefined || update === undefined) throw new Error(`${path} made no update`);
  return { "first line": line, "first group": group, "first update": update };
};

/** One run to its end, which keeps the code that it has compiled. */
const compile = async (path: string, cache: string, folder: string): Promise<void> => {
  const short = ["trainer.total_training_steps=1", "es_manager.val.env_groups=8", "es_manager.val.n_groups=[8]"];
  const child = started(path, ["train", "--config-name", "quickstart", `run.dir=${folder}`, ...short], cache);
  child.stdout.resume();
  await exited(child);
};

const timeHelp = async (path: string, cache: string): Promise<number> => {
  const child = started(path, ["--help"], cache);
  const now = clockOf(child);
  child.stdout.resume();
  await exited(child);
  return now().wall;
};

/** Folders that are removed with what the work has put there. */
const inFolder = async <A>(work: (folder: string) => Promise<A>): Promise<A> => {
  const folder = await mkdtemp(join(tmpdir(), "millrace-start-"));
  try {
    return await work(folder);
  } finally {
    await rm(folder, { recursive: true, force: true, maxRetries: 10 });
  }
};

const targets: Readonly<Record<keyof Moments, number>> = { "first line": 1.5, "first group": 3, "first update": 6 };

const figuresOf = (name: string, runs: readonly Moments[], isHeld: boolean): readonly Figure[] =>
  (["first line", "first group", "first update"] as const).flatMap((moment) => {
    const target = isHeld ? { target: { atMost: targets[moment] } } : {};
    return [
      figureOf(`${name}: ${moment}`, "s", samplesOf(runs.map((run) => run[moment].wall)), target),
      figureOf(`${name}: ${moment}, processor`, "s", samplesOf(runs.map((run) => run[moment].cpu))),
    ];
  });

const times = async <A>(count: number, work: () => Promise<A>): Promise<readonly A[]> => {
  const results: A[] = [];
  for (let i = 0; i < count; i++) results.push(await work());
  return results;
};

const part =
  ({ name, path }: (typeof entries)[number]) =>
  (): Promise<Measured> =>
    inFolder(async (cache) => {
      const fresh = () => inFolder((empty) => inFolder((folder) => timeRun(path, empty, folder)));
      const cold = await times(2, fresh);
      await inFolder((folder) => compile(path, cache, folder));
      const help = await times(RUNS, () => timeHelp(path, cache));
      const warm = await times(RUNS, () => inFolder((folder) => timeRun(path, cache, folder)));
      return () => [
        figureOf(`${name}: --help`, "s", samplesOf(help), { target: { atMost: 0.3 } }),
        ...figuresOf(name, warm, true),
        ...figuresOf(`${name}, nothing compiled`, cold, false),
      ];
    });

export const bench: Bench = {
  question:
    "How long does a user wait for the list of commands, and for the quickstart's first line, group and update?",
  parts: entries.map(part),
};
