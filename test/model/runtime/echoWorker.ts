/** A thread for the tests of Thread: it echoes, refuses calls, records cancellations, throws and exits. */
import { CallError, serve } from "../../../src/model/runtime/serve.ts";
import type { EchoProtocol } from "./echo.ts";

const cancelled: string[] = [];

/** A function to be found in a stack. */
const innermost = (message: string): never => {
  throw new RangeError(message, { cause: new TypeError("the root of it") });
};

const { emit } = serve<EchoProtocol>(
  {
    echo: (text) => {
      emit(`echoed ${text}`);
      return text;
    },
    refuse: (code) => {
      throw new CallError(code, `refused with ${code}`);
    },
    throwInside: () => {
      try {
        return innermost("too far");
      } catch (cause) {
        throw new CallError("wrapped", "a step failed", { cause });
      }
    },
    never: (name, { onCancel }) => {
      onCancel(() => cancelled.push(name));
      return new Promise(() => {});
    },
    cancelled: () => cancelled,
    move: (numbers, { transfer }) => {
      const doubled = numbers.map((number) => 2 * number);
      transfer([doubled.buffer]);
      return doubled;
    },
    throwLater: () => {
      setImmediate(() => innermost("uncaught"));
      return new Promise(() => {});
    },
    block: (cell) => {
      emit("blocked");
      Atomics.wait(cell, 0, 0);
      return null;
    },
    exit: (code) => process.exit(code),
  },
  async () => {},
);
