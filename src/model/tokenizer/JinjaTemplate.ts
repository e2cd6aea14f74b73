/**
 * A Hugging Face chat template, rendered as transformers renders it, in a process of its own that lives as long as the scope. Invariant: no
 * template holds up this process or its memory: one that takes longer or more than `limits` is ended, and the failure names the limit. The
 * next chat has a new process.
 */
import { type ChildProcessByStdio, spawn } from "node:child_process";
import type { Readable, Writable } from "node:stream";
import { fileURLToPath } from "node:url";
import { Effect, Result, type Scope, Semaphore } from "effect";
import { isJsonObject, type JsonObject } from "../checkpoint/TokenizerFiles.ts";
import type { ChatRequest, Message, TemplateAnswer, TemplateSource, ToolRequest } from "./templateProcess.ts";

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
  readonly render: (
    messages: readonly Message[],
    thinking: boolean,
    tools?: readonly ToolRequest[],
  ) => Effect.Effect<string, string>;
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

type TemplateChild = ChildProcessByStdio<Writable, Readable, null>;

/** False as soon as it is told to end. */
const isRunning = (child: TemplateChild): boolean =>
  child.pid !== undefined && !child.killed && child.exitCode === null && child.signalCode === null;

const startProcess = ({ megabytes }: Limits): TemplateChild => {
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

/** Why a chat was not written. */
interface Failure {
  readonly reason: string;
  /** The process ended by itself, and not for this chat's time. */
  readonly hasEnded: boolean;
}

/** Sends a line to the process, or waits until it has started, and gives its answer; ends the process at the time limit, and where the wait is interrupted. */
const request = (
  child: TemplateChild,
  { characters, megabytes, ms }: Limits,
  line: TemplateSource | ChatRequest | null,
): Effect.Effect<string, Failure> =>
  Effect.callback<string, Failure>((resume) => {
    let received = "";
    let isLate = false;
    const fail = (reason: string, hasEnded: boolean): void => resume(Effect.fail({ reason, hasEnded }));
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
      else fail("error" in answer ? answer.error : `it writes more than ${characters} characters`, false);
    };
    const onClose = (): void => {
      release();
      const limit = isLate ? `it takes longer than ${ms / 1_000} s` : `it needs more than ${megabytes} MiB of memory`;
      fail(`${limit} for one chat`, !isLate);
    };
    child.stdout.on("data", onData);
    child.on("close", onClose).on("error", onClose);
    if (!isRunning(child)) return onClose();
    if (line !== null) child.stdin.write(`${JSON.stringify(line)}\n`);
    return Effect.sync(() => {
      release();
      child.kill("SIGKILL");
    });
  });

/** The process that runs a template, while there is one. */
interface Host {
  child: TemplateChild | undefined;
  /** It has read the template; one whose start was interrupted has not. */
  isReady: boolean;
  /** It has written chats: where it ends during another, its seconds may be spent, and the chat deserves a new process. */
  isUsed: boolean;
}

const acquireHost: Effect.Effect<Host, never, Scope.Scope> = Effect.map(
  Effect.acquireRelease(
    Effect.sync(() => {
      const host: Host = { child: undefined, isReady: false, isUsed: false };
      const end = () => host.child?.kill("SIGKILL");
      process.on("exit", end);
      return { host, end };
    }),
    ({ end }) =>
      Effect.sync(() => {
        process.off("exit", end);
        end();
      }),
  ),
  ({ host }) => host,
);

/** The running process, or a new one that has read the template. */
const runningChild = Effect.fnUntraced(function* (
  host: Host,
  limits: Limits,
  source: TemplateSource,
): Effect.fn.Return<TemplateChild, Failure> {
  if (host.child !== undefined && host.isReady && isRunning(host.child)) return host.child;
  host.child?.kill("SIGKILL");
  const child = startProcess(limits);
  Object.assign(host, { child, isReady: false, isUsed: false });
  yield* request(child, { ...limits, ms: startLimitMs }, null);
  yield* request(child, limits, source);
  host.isReady = true;
  return child;
});

/** Writes a chat; a second time in a new process where one ended that had written others. */
const writeChat = Effect.fnUntraced(function* (
  host: Host,
  limits: Limits,
  source: TemplateSource,
  chat: ChatRequest,
): Effect.fn.Return<string, Failure> {
  const write = Effect.flatMap(runningChild(host, limits, source), (child) => request(child, limits, chat));
  const wasUsed = host.isUsed;
  const first = yield* Effect.result(write);
  const text =
    Result.isFailure(first) && first.failure.hasEnded && wasUsed ? yield* write : yield* Effect.fromResult(first);
  host.isUsed = true;
  return text;
});

/**
 * The template of `source`, with the special tokens that `config`, a tokenizer_config.json, names. `toolSource` writes chats with tools, where
 * there is one for them. Fails with why it cannot be read.
 */
export const make = Effect.fnUntraced(function* (
  source: string,
  config: JsonObject,
  limits: Limits = defaultLimits,
  toolSource?: string,
): Effect.fn.Return<JinjaTemplate, string, Scope.Scope> {
  const host = yield* acquireHost;
  const turn = yield* Semaphore.make(1);
  const first: TemplateSource = {
    source,
    tokens: namedTokens(config),
    maxCharacters: limits.characters,
    ...(toolSource === undefined ? {} : { toolSource }),
  };
  const reasonOf = ({ reason }: Failure) => reason;
  yield* Effect.mapError(runningChild(host, limits, first), reasonOf);
  return {
    render: (messages, thinking, tools) => {
      const chat = { messages, thinking, ...(tools === undefined ? {} : { tools }) };
      return turn.withPermits(1)(Effect.mapError(writeChat(host, limits, first, chat), reasonOf));
    },
  };
});
