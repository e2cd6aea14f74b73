/**
 * Runs one job in the Python harness inside the sandbox: it sends the job as a line of JSON and reads the answers line by line. Invariant: a
 * submission's code leaves this process only here, to a harness that bubblewrap has started with `bubblewrapArgs`.
 */
import { fileURLToPath } from "node:url";
import { Effect, Result, Schema } from "effect";
import { failed, type Job, type Outcome, SandboxError, startMs, wallClockFactor } from "../Job.ts";
import * as Child from "./Child.ts";
import { bubblewrapArgs, type Confinement, environmentVariables } from "./confinement.ts";
import { type Architecture, sandboxFilter, submissionFilter } from "./seccomp.ts";

const script = fileURLToPath(new URL("./harness.py", import.meta.url));

const sandboxError = (message: string): SandboxError => new SandboxError({ message });

const Answered = Schema.Struct({ end: Schema.Literal("answered"), text: Schema.String });
const NotAnswered = Schema.Struct({
  end: Schema.Literals(["error", "timeout", "memory", "output", "uncompilable"]),
  note: Schema.String,
});
const Line = Schema.fromJsonString(
  Schema.Union([
    Answered,
    NotAnswered,
    Schema.Struct({ ready: Schema.Literal(true) }),
    Schema.Struct({ trouble: Schema.String }),
  ]),
);
const readLine = Schema.decodeUnknownResult(Line);

/** The first of 64 user ids for the mode `dropped`. Jobs in flight use different ones, so that their processes are counted apart. */
const firstUser = 2 ** 30 + (process.pid % 2 ** 22) * 64;
let jobs = 0;

export interface SandboxSetup {
  readonly bubblewrap: string;
  readonly architecture: Architecture;
  readonly confinement: Omit<Confinement, "harness" | "user">;
}

/** JSON makes a text at most this many times longer. */
const maxEscapeFactor = 6;
const lineOverhead = 4_096;

export interface HarnessReport {
  readonly outcomes: readonly Outcome[];
  readonly uncompilable: string | null;
  /** The harness was killed because the job's time was over. */
  readonly isLate: boolean;
}

/**
 * Runs one job. It fails if the harness is not confined or does not start. Once a test has run, every failure counts against the submission:
 * one that breaks its sandbox fails its tests.
 */
export const runJob = (setup: SandboxSetup, job: Job, prove: boolean): Effect.Effect<HarnessReport, SandboxError> =>
  Effect.gen(function* () {
    const { architecture, bubblewrap, confinement } = setup;
    const { limits } = job;
    const outcomes: Outcome[] = [];
    let ready = false;
    let uncompilable: string | null = null;
    let trouble: string | null = null;
    const listen: Child.LineListener = (line, child) => {
      const decoded = readLine(line);
      const message = Result.isSuccess(decoded) ? decoded.success : { trouble: "an answer that cannot be read" };
      if ("ready" in message) {
        ready = true;
        child.limit(limits.totalMs);
      } else if ("trouble" in message) {
        trouble ??= message.trouble;
        child.kill();
      } else if (message.end === "answered") {
        outcomes.push({ _tag: "Answered", text: message.text });
      } else if (message.end === "uncompilable") {
        uncompilable = message.note;
      } else {
        outcomes.push(failed(message.end, message.note));
      }
    };
    const order = {
      ...{ code: job.code, entry: job.entry, customary: job.preamble, inputs: job.inputs, prove },
      ...{ testMs: limits.testMs, clockMs: wallClockFactor * limits.testMs, memoryBytes: limits.memoryBytes },
      ...{ outputBytes: limits.outputBytes, stopAtTimeout: job.stopAtTimeout },
      filter: submissionFilter(architecture).toString("hex"),
      environment: [...Object.keys(environmentVariables), "PWD", "LC_CTYPE"],
    };
    const command: Child.Command = {
      program: bubblewrap,
      args: bubblewrapArgs({ ...confinement, harness: script, user: firstUser + (jobs++ % 64) }),
      env: { PATH: process.env.PATH },
      input: `${JSON.stringify(order)}\n`,
      descriptor3: sandboxFilter(architecture),
      maxBytes: (maxEscapeFactor * limits.outputBytes + lineOverhead) * (job.inputs.length + 1),
      timeoutMs: startMs,
    };
    const { isLate, stderr } = yield* Child.run(command, listen);
    if (trouble !== null && outcomes.length === 0) return yield* sandboxError(`the sandbox failed: ${trouble}`);
    if (!ready) {
      const why = stderr.trim().split("\n").at(-1) || (isLate ? `no answer within ${startMs} ms` : "it ended at once");
      return yield* sandboxError(`the sandbox does not start: ${why}`);
    }
    return { outcomes, uncompilable, isLate };
  });
