/** Finds the files of the host that a Python interpreter needs, or fails with one sentence that says why it cannot be used. */
import { lstat, readlink } from "node:fs/promises";
import { fileURLToPath } from "node:url";
import { Effect, Result, Schema } from "effect";
import { SandboxError, startMs } from "../Job.ts";
import * as Child from "./Child.ts";

export interface Interpreter {
  readonly version: readonly number[];
  readonly executable: string;
  /** The folders of the standard library. */
  readonly standard: readonly string[];
  /** The folders of shared libraries. */
  readonly libraries: readonly string[];
  /** The loader's path in the executable; null if the executable is linked statically. */
  readonly loader: string | null;
  /** The folders of installed packages inside the others, which submissions may not see. */
  readonly packages: readonly string[];
}

/** A link of the host's root folder (`/lib` to `usr/lib`), by which loaders and libraries are named. */
export interface RootLink {
  readonly path: string;
  readonly target: string;
}

const InterpreterFacts = Schema.fromJsonString(
  Schema.Struct({
    version: Schema.Array(Schema.Int),
    executable: Schema.String,
    standard: Schema.Array(Schema.String),
    libraries: Schema.Array(Schema.String),
    loader: Schema.NullOr(Schema.String),
    packages: Schema.Array(Schema.String),
  }),
);

const script = fileURLToPath(new URL("./interpreter.py", import.meta.url));

const sandboxError = (message: string): SandboxError => new SandboxError({ message });

/** Asks an interpreter for its files. No code of a submission and no site package runs. */
export const find = (python: string): Effect.Effect<Interpreter, SandboxError> =>
  Effect.gen(function* () {
    const lines: string[] = [];
    const { status, stderr } = yield* Child.run(
      {
        program: python,
        args: ["-I", "-S", "-W", "ignore", script],
        env: process.env,
        input: "",
        descriptor3: Buffer.alloc(0),
        maxBytes: 1 << 20,
        timeoutMs: startMs,
      },
      (line) => void lines.push(line),
    );
    const facts = Schema.decodeUnknownResult(InterpreterFacts)(lines[0]);
    if (status !== 0 || Result.isFailure(facts)) {
      const why = stderr.trim().split("\n").at(-1);
      return yield* sandboxError(
        `${python} does not run (${why}); install python3, or name an interpreter in env_config.python`,
      );
    }
    const [major = 0, minor = 0] = facts.success.version;
    if (major !== 3 || minor < 8) {
      return yield* sandboxError(`${python} is Python ${major}.${minor}; Python 3.8 or newer is needed`);
    }
    return facts.success;
  });

/** The links among the library folders of the host's root folder. */
export const rootLinks = Effect.promise(async (): Promise<readonly RootLink[]> => {
  const links = await Promise.all(
    ["/lib", "/lib32", "/lib64"].map(async (path) => {
      const stats = await lstat(path).catch(() => null);
      return stats?.isSymbolicLink() ? [{ path, target: await readlink(path) }] : [];
    }),
  );
  return links.flat();
});
