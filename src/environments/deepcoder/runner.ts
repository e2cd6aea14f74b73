/**
 * The runner of a configuration: what tests its answers. Rejects with a sentence for the user where there is no sandbox for its language;
 * that is found out once, and again at the next call where it failed. There is no runner without one.
 */
import { Effect } from "effect";
import type { Job, Report, SandboxError } from "../../sandbox/Job.ts";
import * as Threads from "../../sandbox/javascript/Threads.ts";
import * as Sandbox from "../../sandbox/python/Sandbox.ts";
import type { DeepCoderConfig } from "./DeepCoderConfig.ts";

export type Runner = (job: Job) => Effect.Effect<Report, SandboxError>;

const sandboxes = new Map<string, Promise<Sandbox.Sandbox>>();

const opened = (programs: Sandbox.Programs): Promise<Sandbox.Sandbox> => {
  const name = JSON.stringify([programs.python, programs.bubblewrap]);
  const known = sandboxes.get(name);
  if (known !== undefined) return known;
  const opening = Effect.runPromise(Sandbox.open(programs));
  sandboxes.set(name, opening);
  opening.catch(() => sandboxes.delete(name));
  return opening;
};

export const runnerOf = async ({ bubblewrap, language, python }: DeepCoderConfig): Promise<Runner> =>
  language === "javascript" ? Threads.run : (await opened({ bubblewrap, python })).run;
