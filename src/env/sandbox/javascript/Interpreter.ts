/**
 * Runs the tests of a JavaScript submission in QuickJS, an interpreter compiled to WebAssembly. Each job has its own instance, each test
 * its own runtime; an instance that a test has broken or made grow is not used again. The submission can call one host function, which
 * takes text. Invariant: every outcome is a value. Only code that no interrupt reaches (a long native loop) can block the thread, so that
 * the caller must be ready to end the thread.
 */
import {
  newQuickJSWASMModuleFromVariant,
  newVariant,
  type QuickJSContext,
  type QuickJSHandle,
  type QuickJSWASMModule,
  RELEASE_SYNC,
  Scope,
} from "quickjs-emscripten";
import { clockFactor, failed, type Job, type Outcome } from "../Job.ts";
import { prelude } from "./prelude.ts";

/** The interpreter's own stack, enough for some 11 000 calls. Its unguarded parts need a thread stack of `threadStackMb`. */
const stackBytes = 2 * 1024 * 1024;
export const threadStackMb = 64;

const page = 65_536;
/** Pages that the module itself requests. */
const initialPages = 256;
const messageLength = 400;

/** Replaces the module's own messages on the host's console. */
const quiet: object = { print: () => undefined, printErr: () => undefined };

const newModule = (wasm: WebAssembly.Module, { limits }: Job): Promise<QuickJSWASMModule> =>
  newQuickJSWASMModuleFromVariant(
    newVariant(RELEASE_SYNC, {
      wasmModule: wasm,
      wasmMemory: new WebAssembly.Memory({
        initial: initialPages,
        maximum: initialPages + Math.ceil(limits.memoryBytes / page),
      }),
      emscriptenModule: quiet,
    }),
  );

/** Processor time of this thread, milliseconds; time on the clock where Node is too old to tell. */
const processorMs = (): number => {
  if (process.threadCpuUsage === undefined) return performance.now();
  const { system, user } = process.threadCpuUsage();
  return (system + user) / 1000;
};

/** The runtime of one test, and why it was stopped, if it was. */
interface Cell {
  readonly context: QuickJSContext;
  /** Disposes of a handle when the test is over. */
  readonly keep: (handle: QuickJSHandle) => QuickJSHandle;
  /** Throws when the output is too long. */
  readonly write: (text: string) => void;
  readonly output: () => string;
  readonly stopped: () => Outcome | null;
}

/** The message of a thrown value, cut. */
const messageOf = ({ context, keep }: Cell, error: QuickJSHandle): string => {
  const field = (name: string): string => {
    const value = keep(context.getProp(error, name));
    return context.typeof(value) === "string" ? context.getString(value).slice(0, messageLength) : "";
  };
  if (context.typeof(error) !== "object") return `threw a ${context.typeof(error)}`;
  return `${field("name")}: ${field("message")}`.slice(0, messageLength);
};

const thrown = (cell: Cell, error: QuickJSHandle): Outcome => {
  const message = messageOf(cell, cell.keep(error));
  return cell.stopped() ?? failed(/out of memory$/.test(message) ? "memory" : "error", message);
};

const flood = ({ limits }: Job): Outcome => failed("output", `more than ${limits.outputBytes} characters`);

/** Runs the prelude, which returns the function that calls an entry. */
const prepared = ({ context, keep, write }: Cell, stdin: string): QuickJSHandle => {
  const host = keep(context.newFunction("write", (text) => write(context.getString(text))));
  const before = keep(context.unwrapResult(context.evalCode(prelude, "prelude.js")));
  const input = keep(context.newString(stdin));
  return keep(context.unwrapResult(context.callFunction(before, context.undefined, host, input)));
};

const execute = (cell: Cell, job: Job, input: string): Outcome => {
  const { code, entry, limits } = job;
  const { context, keep } = cell;
  /** Runs pending promise jobs; an error that nothing awaits does not fail the program. */
  const settle = (): void => context.runtime.executePendingJobs().dispose();

  const call = prepared(cell, entry === null ? input : "");
  const evaluated = context.evalCode(code, "solution.js", { type: "global" });
  if (evaluated.error !== undefined) return thrown(cell, evaluated.error);
  keep(evaluated.value);
  settle();
  if (entry === null) return cell.stopped() ?? { _tag: "Answered", text: cell.output() };

  // By name, because `const` and `class` declarations are no properties of the global object.
  const named = context.evalCode(
    `typeof ${entry} === "function" ? ${entry} : module.exports.${entry} ?? module.exports`,
  );
  if (named.error !== undefined) return thrown(cell, named.error);
  const target = keep(named.value);
  if (context.typeof(target) !== "function") return failed("error", `there is no function ${entry}`);
  const called = context.callFunction(call, context.undefined, target, keep(context.newString(input)));
  if (called.error !== undefined) return thrown(cell, called.error);
  const promise = keep(called.value);
  settle();
  const promised = context.getPromiseState(promise);
  if (promised.type === "rejected") return thrown(cell, promised.error);
  if (promised.type === "pending") return cell.stopped() ?? failed("error", "its promise is never settled");
  const result = keep(promised.value);
  const length = context.getNumber(keep(context.getProp(result, "length")));
  return (
    cell.stopped() ?? (length > limits.outputBytes ? flood(job) : { _tag: "Answered", text: context.getString(result) })
  );
};

/** Runs `use` in a runtime of its own. Throws where the interpreter is broken. */
const inCell = <A>(module: QuickJSWASMModule, job: Job, use: (cell: Cell) => A): A => {
  const { limits } = job;
  const runtime = module.newRuntime({ memoryLimitBytes: limits.memoryBytes, maxStackSizeBytes: stackBytes });
  const begun = performance.now();
  const processorBegun = processorMs();
  let late = false;
  let flooded = false;
  runtime.setInterruptHandler(() => {
    late ||= processorMs() - processorBegun > limits.testMs || performance.now() - begun > clockFactor * limits.testMs;
    return late || flooded;
  });
  const context = runtime.newContext();
  const scope = new Scope();
  const written: string[] = [];
  let length = 0;
  const result = use({
    context,
    keep: (handle) => scope.manage(handle),
    write: (text) => {
      length += text.length;
      flooded ||= length > limits.outputBytes;
      if (flooded) throw new Error("too much output");
      written.push(text);
    },
    output: () => written.join(""),
    stopped: () => {
      if (flooded) return flood(job);
      return late ? failed("timeout", `more than ${limits.testMs} ms`) : null;
    },
  });
  scope.dispose();
  context.dispose();
  runtime.dispose();
  return result;
};

export interface Interpreter {
  /** Why the code is no script, or null. Nothing of it runs. */
  readonly compileError: () => Promise<string | null>;
  readonly test: (input: string) => Promise<Outcome>;
}

export const make = (wasm: WebAssembly.Module, job: Job): Interpreter => {
  let module: QuickJSWASMModule | null = null;

  const run = async <A>(
    use: (cell: Cell) => A,
    broken: (message: string, stopped: Outcome | null) => A,
  ): Promise<A> => {
    const used = module ?? (await newModule(wasm, job));
    module = null;
    let stopped: Outcome | null = null;
    let answer: { readonly value: A } | null = null;
    try {
      inCell(used, job, (cell) => {
        try {
          answer = { value: use(cell) };
        } finally {
          stopped = cell.stopped();
        }
      });
      if (used.getWasmMemory().buffer.byteLength === initialPages * page) module = used;
    } catch (cause) {
      // The thread's stack is full, or the module trapped. An answer from before stands.
      const message = cause instanceof Error ? cause.message : String(cause);
      answer ??= { value: broken(message.slice(0, messageLength), stopped) };
    }
    return answer!.value;
  };

  return {
    test: (input) =>
      run<Outcome>(
        (cell) => execute(cell, job, input),
        (message, stopped) => stopped ?? failed("error", message),
      ),
    compileError: () =>
      run<string | null>(
        (cell) => {
          const { context } = cell;
          const compiled = context.evalCode(job.code, "solution.js", { type: "global", compileOnly: true });
          if (compiled.error !== undefined) return messageOf(cell, cell.keep(compiled.error));
          cell.keep(compiled.value);
          return null;
        },
        (message) => message,
      ),
  };
};
