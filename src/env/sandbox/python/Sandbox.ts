/**
 * The Python sandbox: opened once for an interpreter, it runs jobs. Opening tries the modes of confinement that this machine allows, and
 * tests each from the inside with what must not work. The first that holds is used; where none holds opening fails with one sentence.
 * Invariant: an open sandbox has passed these tests.
 */
import { Effect, Result, Schema } from "effect";
import { failed, filled, type Job, noTime, type Report, SandboxError, startMs } from "../Job.ts";
import * as Child from "./Child.ts";
import type { Mode } from "./confinement.ts";
import { ask, type Setting } from "./Harness.ts";
import * as Interpreter from "./Interpreter.ts";
import { type Architecture, architectures } from "./seccomp.ts";

export interface Programs {
  readonly python: string;
  readonly bubblewrap: string;
}

export interface Sandbox {
  readonly mode: Mode;
  readonly version: readonly number[];
  readonly run: (job: Job) => Effect.Effect<Report, SandboxError>;
}

const refuse = (message: string): SandboxError => new SandboxError({ message });

const Breaches = Schema.fromJsonString(Schema.Array(Schema.String));

const probe: Job = {
  code: "",
  entry: "probe",
  preamble: false,
  inputs: [],
  limits: { testMs: 5_000, totalMs: startMs, memoryBytes: 256 * 1024 * 1024, outputBytes: 65_536 },
  stopAtTimeout: false,
};

/** Fails, and says how, where the sandbox does not confine. */
const prove = (setting: Setting): Effect.Effect<void, SandboxError> =>
  Effect.gen(function* () {
    const { outcomes } = yield* ask(setting, probe, true);
    const [outcome] = outcomes;
    const told = outcome?._tag === "Answered" ? Schema.decodeUnknownResult(Breaches)(outcome.text) : null;
    if (told === null || Result.isFailure(told)) return yield* refuse("the sandbox does not answer for itself");
    if (told.success.length > 0) return yield* refuse(`the sandbox does not confine: ${told.success.join("; ")}`);
  });

const run = (setting: Setting, job: Job): Effect.Effect<Report, SandboxError> =>
  Effect.map(ask(setting, job, false), ({ late, outcomes, uncompilable }) =>
    uncompilable === null
      ? filled(job, outcomes, late ? noTime : failed("error", "its test ended the sandbox"))
      : { _tag: "Uncompilable", message: uncompilable },
  );

const howToAllow =
  "run as root with CAP_SYS_ADMIN, or allow user namespaces (sysctl kernel.unprivileged_userns_clone=1, " +
  "kernel.apparmor_restrict_unprivileged_userns=0), or set env_config.language to javascript";

/** The modes to try, the stronger first. */
const granted = (): readonly Mode[] => (process.getuid?.() === 0 ? ["dropped", "own"] : ["own"]);

/** The first of `modes` that holds. Fails with a sentence for the user that says what is missing. */
export const open = (
  { bubblewrap, python }: Programs,
  modes: readonly Mode[] = granted(),
): Effect.Effect<Sandbox, SandboxError> =>
  Effect.gen(function* () {
    if (process.platform !== "linux" || !architectures.includes(process.arch)) {
      return yield* refuse(
        `Python is confined on Linux (x64, arm64) only, and this is ${process.platform} ${process.arch}; set env_config.language to javascript`,
      );
    }
    const present = yield* Child.run(
      {
        program: bubblewrap,
        args: ["--version"],
        env: process.env,
        input: "",
        extra: Buffer.alloc(0),
        mostBytes: 1 << 20,
        mostMs: startMs,
      },
      () => undefined,
    );
    if (present.status !== 0) {
      return yield* refuse(
        `${bubblewrap} does not run (${present.stderr.trim()}); install bubblewrap (apt-get install bubblewrap), or set env_config.language to javascript`,
      );
    }
    const interpreter = yield* Interpreter.find(python);
    const links = yield* Interpreter.rootLinks;
    const problems: string[] = [];
    for (const mode of modes) {
      const setting: Setting = {
        ...{ bubblewrap, architecture: process.arch as Architecture },
        confinement: { mode, interpreter, links },
      };
      const proved = yield* Effect.result(prove(setting));
      if (Result.isSuccess(proved)) {
        return { mode, version: interpreter.version, run: (job: Job) => run(setting, job) };
      }
      problems.push(proved.failure.message);
    }
    return yield* refuse(`bubblewrap cannot confine here (${problems.join("; then: ")}): ${howToAllow}`);
  });
