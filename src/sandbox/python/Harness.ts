/**
 * The harness in its sandbox, one job at a time: a job enters as a line of JSON, its answers leave line by line. Invariant: code of a
 * submission leaves this process in no other way, and what it goes to is started by bubblewrap under `confined`.
 */
import { fileURLToPath } from "node:url";
import { Effect, Result, Schema } from "effect";
import { clockFactor, failed, type Job, type Outcome, SandboxError, startMs } from "../Job.ts";
import * as Child from "./Child.ts";
import { type Confinement, confined, environment } from "./confinement.ts";
import { type Architecture, sandboxFilter, submissionFilter } from "./seccomp.ts";

const script = fileURLToPath(new URL("./harness.py", import.meta.url));

const refuse = (message: string): SandboxError => new SandboxError({ message });

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

/** Users of this process's own for `dropped`, each for one job at a time as far as 64 go: their processes are counted apart. */
const firstUser = 2 ** 30 + (process.pid % 2 ** 22) * 64;
let jobs = 0;

export interface Setting {
  readonly bubblewrap: string;
  readonly architecture: Architecture;
  readonly confinement: Omit<Confinement, "harness" | "user">;
}

/** A text as JSON is at most this many times longer. */
const mostEscaped = 6;
const lineOverhead = 4_096;

export interface Answers {
  readonly outcomes: readonly Outcome[];
  readonly uncompilable: string | null;
  /** It was killed because the job's time was over. */
  readonly late: boolean;
}

/**
 * The harness on one job. Fails where it is not confined or does not start. Once a test has run, all that happens counts against the
 * submission: one that could break its sandbox must not get away with less than a failed test.
 */
export const ask = (setting: Setting, job: Job, prove: boolean): Effect.Effect<Answers, SandboxError> =>
  Effect.gen(function* () {
    const { architecture, bubblewrap, confinement } = setting;
    const { limits } = job;
    const outcomes: Outcome[] = [];
    let ready = false;
    let uncompilable: string | null = null;
    let trouble: string | null = null;
    const listen: Child.Listener = (line, child) => {
      const read = readLine(line);
      const said = Result.isSuccess(read) ? read.success : { trouble: "an answer that cannot be read" };
      if ("ready" in said) {
        ready = true;
        child.limit(limits.totalMs);
      } else if ("trouble" in said) {
        trouble ??= said.trouble;
        child.kill();
      } else if (said.end === "answered") {
        outcomes.push({ _tag: "Answered", text: said.text });
      } else if (said.end === "uncompilable") {
        uncompilable = said.note;
      } else {
        outcomes.push(failed(said.end, said.note));
      }
    };
    const order = {
      ...{ code: job.code, entry: job.entry, customary: job.preamble, inputs: job.inputs, prove },
      ...{ testMs: limits.testMs, clockMs: clockFactor * limits.testMs, memoryBytes: limits.memoryBytes },
      ...{ outputBytes: limits.outputBytes, stopAtTimeout: job.stopAtTimeout },
      filter: submissionFilter(architecture).toString("hex"),
      environment: [...Object.keys(environment), "PWD", "LC_CTYPE"],
    };
    const command: Child.Command = {
      program: bubblewrap,
      args: confined({ ...confinement, harness: script, user: firstUser + (jobs++ % 64) }),
      env: { PATH: process.env.PATH },
      input: `${JSON.stringify(order)}\n`,
      extra: sandboxFilter(architecture),
      mostBytes: (mostEscaped * limits.outputBytes + lineOverhead) * (job.inputs.length + 1),
      mostMs: startMs,
    };
    const { late, stderr } = yield* Child.run(command, listen);
    if (trouble !== null && outcomes.length === 0) return yield* refuse(`the sandbox failed: ${trouble}`);
    if (!ready) {
      const why = stderr.trim().split("\n").at(-1) || (late ? `no answer within ${startMs} ms` : "it ended at once");
      return yield* refuse(`the sandbox does not start: ${why}`);
    }
    return { outcomes, uncompilable, late };
  });
