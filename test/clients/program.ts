/** A client's program as a process that takes orders (test/clients/programs/serve.mjs and serve.py). */
import { type ChildProcess, spawn } from "node:child_process";
import { existsSync } from "node:fs";
import { join, resolve } from "node:path";
import { createInterface } from "node:readline";
import { packageRoot } from "../../src/support/files/packageRoot.ts";

/** The folder that `test/clients/install.sh` fills. */
export const clientsFolder = resolve(packageRoot, process.env.MILLRACE_CLIENTS ?? ".clients");
if (!existsSync(join(clientsFolder, "npm/complete.json")) || !existsSync(join(clientsFolder, "python/complete.txt"))) {
  throw new Error("the clients are not installed: run bash test/clients/install.sh");
}

/** Folder of the commands that Python's packages bring. */
export const pythonCommands = join(clientsFolder, "python/venv/bin");

/** Folder of the packages of npm. */
export const npmPackages = join(clientsFolder, "npm/node_modules");

const programs = join(import.meta.dirname, "programs");

export interface Usage {
  readonly prompt: number;
  readonly reply: number;
}

export interface ProgramResult {
  readonly isAborted: boolean;
  readonly error?: {
    /** Name of the error's class, and those of the classes that it extends. */
    readonly classes: readonly string[];
    readonly status: number | null;
    readonly message: string;
  };
  /** Final text of each question. */
  readonly texts?: readonly string[];
  readonly calls?: readonly { readonly name: string; readonly arguments: unknown }[];
  /** Usage of each call, as the client read it. */
  readonly usages?: readonly Usage[];
  readonly text?: string;
  readonly finish?: string;
}

export interface Order {
  readonly do: "episode" | "ask";
  readonly url: string;
  readonly apiKey: string;
  readonly questions: readonly string[];
  readonly isStreamed: boolean;
  readonly stop?: readonly string[];
  readonly maxTokens?: number;
}

export interface Program {
  /** Runs an order to its result. */
  readonly run: (order: Order) => Promise<ProgramResult>;
  /** Aborts the running order. */
  readonly abort: () => void;
  readonly end: () => void;
}

/** Variables that keep clients from asking anything but the endpoint. */
export const offline = {
  HF_HUB_OFFLINE: "1",
  LITELLM_LOCAL_MODEL_COST_MAP: "True",
  OPENAI_AGENTS_DISABLE_TRACING: "1",
  LANGCHAIN_TRACING_V2: "false",
  NO_PROXY: "127.0.0.1",
};

const commandOf = (file: string): readonly [string, ...(readonly string[])] =>
  file.endsWith(".py")
    ? [join(pythonCommands, "python")]
    : [process.execPath, "--import", join(programs, "packages.mjs")];

const start = (file: string, variant: string): ChildProcess => {
  const [command, ...options] = commandOf(file);
  return spawn(command, [...options, join(programs, file), variant], {
    stdio: ["pipe", "pipe", "pipe"],
    env: { ...process.env, ...offline, MILLRACE_CLIENT_PACKAGES: join(clientsFolder, "npm") },
  });
};

/** Starts a program of the folder programs. Orders fail once the process has ended. */
export const startProgram = (file: string, variant: string): Program => {
  const child = start(file, variant);
  const { stderr, stdin, stdout } = child;
  if (stdin === null || stdout === null || stderr === null) throw new Error("the program has no streams");
  let result = Promise.withResolvers<ProgramResult>();
  let errors = "";
  stderr.on("data", (chunk) => {
    errors += chunk;
  });
  createInterface({ input: stdout }).on("line", (line) => {
    if (line.startsWith("result: ")) result.resolve(JSON.parse(line.slice("result: ".length)));
  });
  const ended = new Promise<never>((_, fail) => {
    child.on("error", fail);
    child.on("close", (code) => fail(new Error(`${file} ended with ${code}: ${errors}`)));
  });
  // An end that no order waits for is none of a test's failures; nor is a line that an ended process did not read.
  ended.catch(() => undefined);
  stdin.on("error", () => undefined);
  const send = (order: object): void => void stdin.write(`${JSON.stringify(order)}\n`);
  return {
    run: (order) => {
      result = Promise.withResolvers();
      send(order);
      return Promise.race([result.promise, ended]);
    },
    abort: () => send({ do: "abort" }),
    end: () => void stdin.end(),
  };
};
