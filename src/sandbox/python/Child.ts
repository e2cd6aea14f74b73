/**
 * A child process that answers in lines. Enters: a program with its arguments and what it reads; leaves: its lines as they come, and how
 * it ended. Invariant: when the effect is over, by whatever way, the child and all it started are gone: it leads a process group that is
 * killed, and a sandbox's first process dies with the program that made it. What it says is bounded.
 */
import { spawn } from "node:child_process";
import type { Writable } from "node:stream";
import { Effect } from "effect";

export interface Command {
  readonly program: string;
  readonly args: readonly string[];
  readonly env: NodeJS.ProcessEnv;
  /** What it reads on its standard input. */
  readonly input: string;
  /** What it reads on descriptor 3. */
  readonly extra: Buffer;
  /** Bytes it may say. */
  readonly mostBytes: number;
  /** Milliseconds it may take, until a listener sets another limit. */
  readonly mostMs: number;
}

export interface Ended {
  /** Null where a signal ended it, or where it did not start. */
  readonly status: number | null;
  /** The end of what it said on standard error, or why it did not start. */
  readonly complaint: string;
  /** It said more than it may, and was killed. */
  readonly flooded: boolean;
  /** It took longer than it may, and was killed. */
  readonly late: boolean;
}

const complaintLength = 2_000;

export interface Handle {
  readonly kill: () => void;
  /** Kills it `ms` from now, in place of any limit before. */
  readonly limit: (ms: number) => void;
}

export type Listener = (line: string, child: Handle) => void;

export const run = (command: Command, listen: Listener): Effect.Effect<Ended> =>
  Effect.callback<Ended>((resume) => {
    const child = spawn(command.program, command.args, {
      env: command.env,
      // A group of its own, so that one signal reaches all of it.
      detached: true,
      stdio: ["pipe", "pipe", "pipe", "pipe"],
    });
    let open = true;
    let bytes = 0;
    let rest = "";
    let complaint = "";
    let flooded = false;
    let late = false;
    let timer: NodeJS.Timeout | undefined;
    const kill = (): void => {
      if (!open || child.pid === undefined) return;
      try {
        process.kill(-child.pid, "SIGKILL");
      } catch {
        // It has just ended by itself.
      }
    };
    const limit = (ms: number): void => {
      clearTimeout(timer);
      timer = setTimeout(() => {
        late = true;
        kill();
      }, ms);
    };
    limit(command.mostMs);

    child.stdout!.setEncoding("utf8").on("data", (chunk: string) => {
      bytes += chunk.length;
      if (bytes > command.mostBytes) {
        flooded = true;
        return kill();
      }
      const lines = (rest + chunk).split("\n");
      rest = lines.pop()!;
      for (const line of lines) listen(line, { kill, limit });
    });
    child.stderr!.setEncoding("utf8").on("data", (chunk: string) => {
      complaint = (complaint + chunk).slice(-complaintLength);
    });
    for (const [stream, data] of [
      [child.stdin!, command.input],
      [child.stdio[3] as Writable, command.extra],
    ] as const) {
      // A child that ends before it has read everything breaks its pipe; how it ended says more.
      stream.on("error", () => undefined);
      stream.end(data);
    }
    const closed = new Promise<void>((resolve) => {
      const end = (status: number | null): void => {
        open = false;
        clearTimeout(timer);
        resume(Effect.succeed({ status, complaint, flooded, late }));
        resolve();
      };
      child.on("error", (error) => {
        complaint = error.message;
        // One that did not start has nothing to close.
        if (child.pid === undefined) end(null);
      });
      child.on("close", end);
    });
    return Effect.promise(() => {
      kill();
      return closed;
    });
  });
