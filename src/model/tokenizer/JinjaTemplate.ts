/**
 * A Hugging Face chat template, rendered as transformers renders it, in a process of its own that lives as long as the scope. Invariant: no
 * template holds up this process or its memory: one that takes longer or more than `limits` is ended, and the failure names the limit.
 */
import { type ChildProcessByStdio, spawn } from "node:child_process";
import type { Readable, Writable } from "node:stream";
import { fileURLToPath } from "node:url";
import { Effect, type Scope, Semaphore } from "effect";
import { isJsonObject, type JsonObject } from "../checkpoint/TokenizerFiles.ts";
import type { ChatRequest, Message, TemplateAnswer, TemplateSource } from "./templateProcess.ts";

export interface Limits {
  /** Most time for one chat, milliseconds. */
  readonly ms: number;
  /** Most memory of the process's heap, MiB. */
  readonly megabytes: number;
  /** Longest text of a chat, characters. */
  readonly characters: number;
}

/** Templates in use write a chat in less than a millisecond. */
export const defaultLimits: Limits = { ms: 10_000, megabytes: 128, characters: 2 ** 20 };

export interface JinjaTemplate {
  /**
   * The text of `messages` up to the reply that comes next; `thinking` is what the template's switch for thoughts says, where it has one.
   * A failure is what the template raised, or the limit that it exceeded.
   */
  readonly render: (messages: readonly Message[], thinking: boolean) => Effect.Effect<string, string>;
}

/** A special token in tokenizer_config.json is a string or an object with its content. */
export const contentOf = (token: unknown): string | undefined => {
  if (typeof token === "string") return token;
  return isJsonObject(token) && typeof token.content === "string" ? token.content : undefined;
};

const tokenNames = ["bos_token", "eos_token", "unk_token", "sep_token", "pad_token", "cls_token", "mask_token"];

/** The special tokens that a template can name. */
const namedTokens = (config: JsonObject): Readonly<Record<string, string>> =>
  Object.fromEntries(
    tokenNames.flatMap((name) => {
      const content = contentOf(config[name]);
      return content === undefined ? [] : [[name, content]];
    }),
  );

/** Most processor seconds of the process, by the system's own limit. */
const cpuLimitedShell = ["/bin/sh", "-c", 'ulimit -t 60; exec "$0" "$@"'];

const startProcess = ({ megabytes }: Limits): ChildProcessByStdio<Writable, Readable, null> => {
  const url = new URL("./templateProcess.ts", import.meta.url);
  const words = [process.execPath, `--max-old-space-size=${megabytes}`, fileURLToPath(url)];
  // The system ends it as well, where this process is killed and nobody is left to do so.
  const [program = "", ...rest] = process.platform === "win32" ? words : [...cpuLimitedShell, ...words];
  const child = spawn(program, rest, {
    stdio: ["pipe", "pipe", "ignore"],
    // Nothing of this process's environment is told to a stranger's template.
    env: {},
  });
  // The exit of the process already tells why its pipe broke.
  child.stdin.on("error", () => undefined);
  child.stdout.setEncoding("utf8");
  return child;
};

/** A process starts within this, also on a machine that is busy. */
const startLimitMs = 60_000;

/** Sends a line to the process, or waits until it has started, and gives its answer; ends the process at the time limit, and where the wait is interrupted. */
const request = (
  child: ChildProcessByStdio<Writable, Readable, null>,
  { characters, megabytes, ms }: Limits,
  line: TemplateSource | ChatRequest | null,
): Effect.Effect<string, string> =>
  Effect.callback<string, string>((resume) => {
    let received = "";
    let isLate = false;
    const timer = setTimeout(() => {
      isLate = true;
      child.kill("SIGKILL");
    }, ms);
    const release = (): void => {
      clearTimeout(timer);
      child.stdout.off("data", onData);
      child.off("close", onClose);
      child.off("error", onClose);
    };
    const onData = (part: string): void => {
      received += part;
      if (!received.endsWith("\n")) return;
      release();
      const answer: TemplateAnswer = JSON.parse(received);
      if ("text" in answer) resume(Effect.succeed(answer.text));
      else resume(Effect.fail("error" in answer ? answer.error : `it writes more than ${characters} characters`));
    };
    const onClose = (): void => {
      release();
      const limit = isLate ? `it takes longer than ${ms / 1_000} s` : `it needs more than ${megabytes} MiB of memory`;
      resume(Effect.fail(`${limit} for one chat`));
    };
    child.stdout.on("data", onData);
    child.on("close", onClose).on("error", onClose);
    if (child.exitCode !== null || child.signalCode !== null) return onClose();
    if (line !== null) child.stdin.write(`${JSON.stringify(line)}\n`);
    return Effect.sync(() => {
      release();
      child.kill("SIGKILL");
    });
  });

/** The template of `source`, with the special tokens that `config`, a tokenizer_config.json, names. Fails with why it cannot be read. */
export const make = Effect.fnUntraced(function* (
  source: string,
  config: JsonObject,
  limits: Limits = defaultLimits,
): Effect.fn.Return<JinjaTemplate, string, Scope.Scope> {
  const { child } = yield* Effect.acquireRelease(
    Effect.sync(() => {
      const child = startProcess(limits);
      const end = () => child.kill("SIGKILL");
      process.on("exit", end);
      return { child, end };
    }),
    ({ end }) =>
      Effect.sync(() => {
        process.off("exit", end);
        end();
      }),
  );
  yield* request(child, { ...limits, ms: startLimitMs }, null);
  const turn = yield* Semaphore.make(1);
  const send = (line: TemplateSource | ChatRequest) => turn.withPermits(1)(request(child, limits, line));
  yield* send({ source, tokens: namedTokens(config), maxCharacters: limits.characters });
  return { render: (messages, thinking) => send({ messages, thinking }) };
});
