/** A thread for the tests of Thread: echoes, refuses, remembers cancellations, dies. */
import { CallError, serve } from "../../../src/policy/runtime/serve.ts";
import type { EchoProtocol } from "./echo.ts";

const cancelled: string[] = [];
const { emit } = serve<EchoProtocol>(
  {
    echo: (text) => {
      emit(`echoed ${text}`);
      return text;
    },
    refuse: (code) => {
      throw new CallError(code, `refused with ${code}`);
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
      setImmediate(() => {
        throw new Error("lost its mind");
      });
      return new Promise(() => {});
    },
    exit: (code) => process.exit(code),
  },
  async () => {},
);
