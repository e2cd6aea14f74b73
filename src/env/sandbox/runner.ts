/**
 * The sandbox of a language, opened once and shared. It rejects with a sentence for the user if this machine has no sandbox for the language;
 * the next call tries again. There is no way to run code without a sandbox.
 */
import { Effect } from "effect";
import type { Job, Report, SandboxError } from "./Job.ts";
import * as Threads from "./javascript/Threads.ts";
import * as Sandbox from "./python/Sandbox.ts";

export type Runner = (job: Job) => Effect.Effect<Report, SandboxError>;

export interface RunnerOptions extends Sandbox.Programs {
  readonly language: "python" | "javascript";
}

const sandboxes = new Map<string, Promise<Sandbox.Sandbox>>();

const openShared = (programs: Sandbox.Programs): Promise<Sandbox.Sandbox> => {
  const name = JSON.stringify([programs.python, programs.bubblewrap]);
  const shared = sandboxes.get(name);
  if (shared !== undefined) return shared;
  const opening = Effect.runPromise(Sandbox.open(programs));
  sandboxes.set(name, opening);
  opening.catch(() => sandboxes.delete(name));
  return opening;
};

/** Opens the sandbox of a language; `python` and `bubblewrap` are used for Python only. */
export const runnerOf = async ({ bubblewrap, language, python }: RunnerOptions): Promise<Runner> =>
  language === "javascript" ? Threads.run : (await openShared({ bubblewrap, python })).run;
