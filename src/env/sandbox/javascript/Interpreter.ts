/**
 * Runs the tests of a JavaScript submission in QuickJS, an interpreter compiled to WebAssembly. Each job has its own instance, each test its
 * own runtime; an instance that a test has broken or made grow is not used again. Invariant: every outcome is a value. A long native loop,
 * which no interrupt reaches, can block the thread, so the caller must be ready to end the thread.
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
import { failed, type Job, type Outcome, wallClockFactor } from "../Job.ts";
import { prelude } from "./prelude.ts";

/** The interpreter's own stack is enough for some 11 000 calls. Its unguarded parts need a thread stack of `threadStackMb`. */
const stackBytes = 2 * 1024 * 1024;
export const threadStackMb = 64;

const pageBytes = 65_536;
/** The number of pages that the module itself requests. */
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
        maximum: initialPages + Math.ceil(limits.memoryBytes / pageBytes),
      }),
      emscriptenModule: quiet,
    }),
  );

/** The processor time of this thread in milliseconds, or the time on the clock if Node is too old to tell. */
const processorMs = (): number => {
  if (process.threadCpuUsage === undefined) return performance.now();
  const { system, user } = process.threadCpuUsage();
  return (system + user) / 1000;
};

/** The runtime of one test, with its output and its limits. */
interface TestRuntime {
  readonly context: QuickJSContext;
  /** Disposes of a handle when the test is over. */
  readonly keep: (handle: QuickJSHandle) => QuickJSHandle;
  /** Appends to the output; it throws when the output is too long. */
  readonly write: (text: string) => void;
  readonly output: () => string;
  /** The outcome of a test that a limit has stopped; null otherwise. */
  readonly stopped: () => Outcome | null;
}

/** The message of a thrown value, cut to `messageLength`. */
const errorMessage = ({ context, keep }: TestRuntime, error: QuickJSHandle): string => {
  const field = (name: string): string => {
    const value = keep(context.getProp(error, name));
    return context.typeof(value) === "string" ? context.getString(value).slice(0, messageLength) : "";
  };
  if (context.typeof(error) !== "object") return `threw a ${context.typeof(error)}`;
  return `${field("name")}: ${field("message")}`.slice(0, messageLength);
};

const outcomeOfError = (runtime: TestRuntime, error: QuickJSHandle): Outcome => {
  const message = errorMessage(runtime, runtime.keep(error));
  return runtime.stopped() ?? failed(/out of memory$/.test(message) ? "memory" : "error", message);
};

const outputFailure = ({ limits }: Job): Outcome => failed("output", `more than ${limits.outputBytes} characters`);

/** Runs the prelude, which returns the function that calls an entry. */
const runPrelude = ({ context, keep, write }: TestRuntime, stdin: string): QuickJSHandle => {
  const host = keep(context.newFunction("write", (text) => write(context.getString(text))));
  const define = keep(context.unwrapResult(context.evalCode(prelude, "prelude.js")));
  const input = keep(context.newString(stdin));
  return keep(context.unwrapResult(context.callFunction(define, context.undefined, host, input)));
};

const execute = (runtime: TestRuntime, job: Job, input: string): Outcome => {
  const { code, entry, limits } = job;
  const { context, keep } = runtime;
  /** Runs pending promise jobs; an error that nothing awaits does not fail the program. */
  const runPendingJobs = (): void => context.runtime.executePendingJobs().dispose();

  const call = runPrelude(runtime, entry === null ? input : "");
  const evaluated = context.evalCode(code, "solution.js", { type: "global" });
  if (evaluated.error !== undefined) return outcomeOfError(runtime, evaluated.error);
  keep(evaluated.value);
  runPendingJobs();
  if (entry === null) return runtime.stopped() ?? { _tag: "Answered", text: runtime.output() };

  // The entry is looked up by name, because `const` and `class` declarations are no properties of the global object.
  const lookup = context.evalCode(
    `typeof ${entry} === "function" ? ${entry} : module.exports.${entry} ?? module.exports`,
  );
  if (lookup.error !== undefined) return outcomeOfError(runtime, lookup.error);
  const target = keep(lookup.value);
  if (context.typeof(target) !== "function") return failed("error", `there is no function ${entry}`);
  const callResult = context.callFunction(call, context.undefined, target, keep(context.newString(input)));
  if (callResult.error !== undefined) return outcomeOfError(runtime, callResult.error);
  const promise = keep(callResult.value);
  runPendingJobs();
  const promised = context.getPromiseState(promise);
  if (promised.type === "rejected") return outcomeOfError(runtime, promised.error);
  if (promised.type === "pending") return runtime.stopped() ?? failed("error", "its promise is never settled");
  const result = keep(promised.value);
  const length = context.getNumber(keep(context.getProp(result, "length")));
  return (
    runtime.stopped() ??
    (length > limits.outputBytes ? outputFailure(job) : { _tag: "Answered", text: context.getString(result) })
  );
};

/** Runs `use` in a runtime of its own. It throws if the interpreter is broken. */
const withTestRuntime = <A>(module: QuickJSWASMModule, job: Job, use: (runtime: TestRuntime) => A): A => {
  const { limits } = job;
  const runtime = module.newRuntime({ memoryLimitBytes: limits.memoryBytes, maxStackSizeBytes: stackBytes });
  const begun = performance.now();
  const processorBegun = processorMs();
  let late = false;
  let flooded = false;
  runtime.setInterruptHandler(() => {
    late ||=
      processorMs() - processorBegun > limits.testMs || performance.now() - begun > wallClockFactor * limits.testMs;
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
      if (flooded) return outputFailure(job);
      return late ? failed("timeout", `more than ${limits.testMs} ms`) : null;
    },
  });
  scope.dispose();
  context.dispose();
  runtime.dispose();
  return result;
};

export interface Interpreter {
  /** Compiles the code without running it, and gives the error or null. */
  readonly compileError: () => Promise<string | null>;
  readonly test: (input: string) => Promise<Outcome>;
}

export const make = (wasm: WebAssembly.Module, job: Job): Interpreter => {
  let reusable: QuickJSWASMModule | null = null;

  const run = async <A>(
    use: (runtime: TestRuntime) => A,
    broken: (message: string, stopped: Outcome | null) => A,
  ): Promise<A> => {
    const instance = reusable ?? (await newModule(wasm, job));
    reusable = null;
    let stopped: Outcome | null = null;
    let answer: { readonly value: A } | null = null;
    try {
      withTestRuntime(instance, job, (runtime) => {
        try {
          answer = { value: use(runtime) };
        } finally {
          stopped = runtime.stopped();
        }
      });
      if (instance.getWasmMemory().buffer.byteLength === initialPages * pageBytes) reusable = instance;
    } catch (cause) {
      // The thread's stack is full, or the module trapped. An answer that came before the trap stands.
      const message = cause instanceof Error ? cause.message : String(cause);
      answer ??= { value: broken(message.slice(0, messageLength), stopped) };
    }
    return answer!.value;
  };

  return {
    test: (input) =>
      run<Outcome>(
        (runtime) => execute(runtime, job, input),
        (message, stopped) => stopped ?? failed("error", message),
      ),
    compileError: () =>
      run<string | null>(
        (runtime) => {
          const { context } = runtime;
          const compiled = context.evalCode(job.code, "solution.js", { type: "global", compileOnly: true });
          if (compiled.error !== undefined) return errorMessage(runtime, runtime.keep(compiled.error));
          runtime.keep(compiled.value);
          return null;
        },
        (message) => message,
      ),
  };
};
