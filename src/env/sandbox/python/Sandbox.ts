/**
 * The Python sandbox: opened once for an interpreter, it runs jobs. Opening tries the modes of confinement that this machine allows; a probe
 * inside tests what must not work. The first mode that holds is used, and if none holds opening fails with one sentence. Invariant: an
 * open sandbox has passed these tests.
 */
import { Effect, Result, Schema } from "effect";
import { completeReport, failed, type Job, outOfTime, type Report, SandboxError, startMs } from "../Job.ts";
import * as Child from "./Child.ts";
import type { ConfinementMode } from "./confinement.ts";
import { runJob, type SandboxSetup } from "./Harness.ts";
import * as Interpreter from "./Interpreter.ts";
import { type Architecture, architectures } from "./seccomp.ts";

export interface Programs {
  readonly python: string;
  readonly bubblewrap: string;
}

export interface Sandbox {
  readonly mode: ConfinementMode;
  readonly version: readonly number[];
  readonly run: (job: Job) => Effect.Effect<Report, SandboxError>;
}

const sandboxError = (message: string): SandboxError => new SandboxError({ message });

const Breaches = Schema.fromJsonString(Schema.Array(Schema.String));

const probe: Job = {
  code: "",
  entry: "probe",
  preamble: false,
  inputs: [],
  limits: { testMs: 5_000, totalMs: startMs, memoryBytes: 256 * 1024 * 1024, outputBytes: 65_536 },
  stopAtTimeout: false,
};

/** Runs the probe inside the sandbox, and fails with the breaches that it finds. */
const proveConfinement = (setup: SandboxSetup): Effect.Effect<void, SandboxError> =>
  Effect.gen(function* () {
    const { outcomes } = yield* runJob(setup, probe, true);
    const [outcome] = outcomes;
    const breaches = outcome?._tag === "Answered" ? Schema.decodeUnknownResult(Breaches)(outcome.text) : null;
    if (breaches === null || Result.isFailure(breaches))
      return yield* sandboxError("the sandbox does not answer for itself");
    if (breaches.success.length > 0)
      return yield* sandboxError(`the sandbox does not confine: ${breaches.success.join("; ")}`);
  });

const run = (setup: SandboxSetup, job: Job): Effect.Effect<Report, SandboxError> =>
  Effect.map(runJob(setup, job, false), ({ isLate, outcomes, uncompilable }) =>
    uncompilable === null
      ? completeReport(job, outcomes, isLate ? outOfTime : failed("error", "its test ended the sandbox"))
      : { _tag: "Uncompilable", message: uncompilable },
  );

const howToAllow =
  "run as root with CAP_SYS_ADMIN, or allow user namespaces (sysctl kernel.unprivileged_userns_clone=1, " +
  "kernel.apparmor_restrict_unprivileged_userns=0), or set env_config.language to javascript";

/** The modes to try, the strongest first. */
const allowedModes = (): readonly ConfinementMode[] => (process.getuid?.() === 0 ? ["dropped", "own"] : ["own"]);

/** Opens a sandbox in the first of `modes` that holds. It fails with a sentence for the user that says what is missing. */
export const open = (
  { bubblewrap, python }: Programs,
  modes: readonly ConfinementMode[] = allowedModes(),
): Effect.Effect<Sandbox, SandboxError> =>
  Effect.gen(function* () {
    if (process.platform !== "linux" || !architectures.includes(process.arch)) {
      return yield* sandboxError(
        `Python is confined on Linux (x64, arm64) only, and this is ${process.platform} ${process.arch}; set env_config.language to javascript`,
      );
    }
    const version = yield* Child.run(
      {
        program: bubblewrap,
        args: ["--version"],
        env: process.env,
        input: "",
        descriptor3: Buffer.alloc(0),
        maxBytes: 1 << 20,
        timeoutMs: startMs,
      },
      () => undefined,
    );
    if (version.status !== 0) {
      return yield* sandboxError(
        `${bubblewrap} does not run (${version.stderr.trim()}); install bubblewrap (apt-get install bubblewrap), or set env_config.language to javascript`,
      );
    }
    const interpreter = yield* Interpreter.find(python);
    const links = yield* Interpreter.rootLinks;
    const problems: string[] = [];
    for (const mode of modes) {
      const setup: SandboxSetup = {
        ...{ bubblewrap, architecture: process.arch as Architecture },
        confinement: { mode, interpreter, links },
      };
      const proof = yield* Effect.result(proveConfinement(setup));
      if (Result.isSuccess(proof)) {
        return { mode, version: interpreter.version, run: (job: Job) => run(setup, job) };
      }
      problems.push(proof.failure.message);
    }
    return yield* sandboxError(`bubblewrap cannot confine here (${problems.join("; then: ")}): ${howToAllow}`);
  });
