/**
 * Runs a child process that answers in lines: it gives each line of the child's output to a listener, and returns how the child ended.
 * Invariants: the output is bounded, and the child and its descendants are gone when the effect ends. For that the child leads a process
 * group that is killed, and a sandbox's first process dies with the program that made it.
 */
import { type ChildProcess, spawn } from "node:child_process";
import { Writable } from "node:stream";
import { Effect } from "effect";

export interface Command {
  readonly program: string;
  readonly args: readonly string[];
  readonly env: NodeJS.ProcessEnv;
  /** The child's standard input. */
  readonly input: string;
  /** The content of the child's file descriptor 3. */
  readonly descriptor3: Buffer;
  /** The most output, in characters. */
  readonly maxBytes: number;
  /** The time limit in milliseconds, until a listener sets another. */
  readonly timeoutMs: number;
}

export interface ChildExit {
  /** The exit status; null if a signal ended the child, or if it did not start. */
  readonly status: number | null;
  /** The end of the child's standard error, or the reason why it did not start. */
  readonly stderr: string;
  /** The child wrote too much, and was killed. */
  readonly hasFlooded: boolean;
  /** The child took too long, and was killed. */
  readonly isLate: boolean;
}

const stderrLength = 2_000;

export interface ChildHandle {
  readonly kill: () => void;
  /** Kills the child `ms` from now; this replaces the limit before. */
  readonly limit: (ms: number) => void;
}

export type LineListener = (line: string, child: ChildHandle) => void;

/** One child with its limits. `ended` is called once. */
class Child implements ChildHandle {
  readonly #process: ChildProcess;
  readonly #maxBytes: number;
  readonly #listen: LineListener;
  #open = true;
  #bytes = 0;
  /** The output after its last newline. */
  #rest = "";
  #stderr = "";
  #flooded = false;
  #late = false;
  #timer: NodeJS.Timeout | undefined;

  constructor(command: Command, listen: LineListener) {
    // A detached child leads a process group, so that one signal reaches all of its processes.
    const options = { env: command.env, detached: true } as const;
    const child = spawn(command.program, command.args, { ...options, stdio: ["pipe", "pipe", "pipe", "pipe"] });
    this.#process = child;
    this.#maxBytes = command.maxBytes;
    this.#listen = listen;
    this.limit(command.timeoutMs);
    child.stdout.setEncoding("utf8").on("data", (chunk: string) => this.#read(chunk));
    child.stderr.setEncoding("utf8").on("data", (chunk: string) => {
      this.#stderr = (this.#stderr + chunk).slice(-stderrLength);
    });
    this.#write(child.stdin, command.input);
    this.#write(child.stdio[3], command.descriptor3);
  }

  kill(): void {
    const { pid } = this.#process;
    if (!this.#open || pid === undefined) return;
    try {
      process.kill(-pid, "SIGKILL");
    } catch {
      // The child has just ended by itself.
    }
  }

  limit(ms: number): void {
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => {
      this.#late = true;
      this.kill();
    }, ms);
  }

  /** Resolves when the child has ended and its output has been read. */
  ended(): Promise<ChildExit> {
    return new Promise((resolve) => {
      const end = (status: number | null): void => {
        this.#open = false;
        clearTimeout(this.#timer);
        resolve({ status, stderr: this.#stderr, hasFlooded: this.#flooded, isLate: this.#late });
      };
      this.#process.on("error", (error) => {
        this.#stderr = error.message;
        // A child that did not start never closes.
        if (this.#process.pid === undefined) end(null);
      });
      this.#process.on("close", end);
    });
  }

  #read(chunk: string): void {
    this.#bytes += chunk.length;
    if (this.#bytes > this.#maxBytes) {
      this.#flooded = true;
      this.kill();
      return;
    }
    const lines = (this.#rest + chunk).split("\n");
    this.#rest = lines.pop() ?? "";
    for (const line of lines) this.#listen(line, this);
  }

  #write(stream: ChildProcess["stdio"][number] | undefined, data: string | Buffer): void {
    if (!(stream instanceof Writable)) throw new Error("a pipe of the child is not open for writing");
    // A child that ends before it has read everything breaks its pipe. Its exit says more than this error.
    stream.on("error", () => undefined);
    stream.end(data);
  }
}

export const run = (command: Command, listen: LineListener): Effect.Effect<ChildExit> =>
  Effect.callback<ChildExit>((resume) => {
    const child = new Child(command, listen);
    const ended = child.ended();
    ended.then((how) => resume(Effect.succeed(how)));
    return Effect.promise(() => {
      child.kill();
      return ended;
    });
  });
