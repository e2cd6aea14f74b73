/** A sandbox of one mode, with short helpers to run code in it. */
import { readdirSync, readFileSync } from "node:fs";
import { Effect } from "effect";
import type { Job, Outcome, Report } from "../../../src/env/sandbox/Job.ts";
import type { ConfinementMode } from "../../../src/env/sandbox/python/confinement.ts";
import { open, type Sandbox } from "../../../src/env/sandbox/python/Sandbox.ts";
import { jobOf, outcomesOf, textOf } from "./jobs.ts";

export const programs = { python: process.env.MILLRACE_TEST_PYTHON ?? "python3", bubblewrap: "bwrap" };

/** The modes that this user can test: root both, others one. */
export const modes: readonly ConfinementMode[] = process.getuid?.() === 0 ? ["dropped", "own"] : ["own"];

/** Room enough that no machine is too slow for what is to succeed. */
export const roomy = { testMs: 20_000, totalMs: 100_000, memoryBytes: 256 * 1024 * 1024, outputBytes: 10_000 };

export interface SandboxHarness {
  readonly sandbox: Sandbox;
  readonly report: (code: string, keys?: Partial<Job>) => Promise<Report>;
  readonly outcomes: (code: string, keys?: Partial<Job>) => Promise<readonly Outcome[]>;
  /** The result of a function `f` without arguments. */
  readonly value: (code: string, keys?: Partial<Job>) => Promise<unknown>;
  /** Runs a job, and gives the end of each test: the text of an answer, or the reason of a failure. */
  readonly ends: (code: string, keys?: Partial<Job>) => Promise<readonly string[]>;
  /** Runs a program, and gives its output. */
  readonly printed: (code: string, stdin?: string) => Promise<string>;
}

export const openHarness = async (mode: ConfinementMode): Promise<SandboxHarness> => {
  const sandbox = await Effect.runPromise(open(programs, [mode]));
  const report = (code: string, keys: Partial<Job> = {}): Promise<Report> =>
    Effect.runPromise(sandbox.run(jobOf(code, roomy, keys)));
  const outcomes = async (code: string, keys: Partial<Job> = {}): Promise<readonly Outcome[]> =>
    outcomesOf(await report(code, keys));
  return {
    sandbox,
    report,
    outcomes,
    value: async (code, keys) => JSON.parse(textOf(await outcomes(code, keys))),
    ends: async (code, keys) =>
      (await outcomes(code, keys)).map((outcome) => (outcome._tag === "Answered" ? outcome.text : outcome.reason)),
    printed: async (code, stdin = "") => textOf(await outcomes(code, { entry: null, inputs: [stdin] })),
  };
};

/** A file of /proc about a process; empty where the process has just ended. */
const factOf = (pid: string, name: string): string => {
  try {
    return readFileSync(`/proc/${pid}/${name}`, "utf8");
  } catch {
    return "";
  }
};

/** Processes of this machine whose command line holds `text`. */
export const processes = (text: string): readonly string[] =>
  readdirSync("/proc")
    .filter((name) => /^\d+$/.test(name))
    .filter((pid) => factOf(pid, "cmdline").includes(text));

/** The kernel's status of these processes, one text each. */
export const statusesOf = (text: string): readonly string[] => processes(text).map((pid) => factOf(pid, "status"));
