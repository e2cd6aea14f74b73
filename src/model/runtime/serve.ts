/**
 * The inside of a worker thread: takes calls from the owner's port and answers them. A handler returns a value or a promise, may listen
 * for its call's cancellation, and fails that one call by throwing (`CallError` gives a code), never the thread.
 * Invariant: after `close` the port is closed, and the thread ends once it holds no other handle.
 */
import { flushCompileCache } from "node:module";
import { parentPort } from "node:worker_threads";
import { toPortable } from "./PortableError.ts";
import type { CallName, FromThread, Protocol, Request, Response, ToThread, Transferable } from "./ThreadProtocol.ts";

/** Thrown by a handler, it gives the caller its code; any other error has the code `failed`. */
export class CallError extends Error {
  readonly code: string;

  constructor(code: string, message: string, options: ErrorOptions = {}) {
    super(message, options);
    this.name = "CallError";
    this.code = code;
  }
}

export interface CallContext {
  /** Calls `listener` when the caller cancels; the answer is then dropped. */
  readonly onCancel: (listener: () => void) => void;
  /** Buffers of the response to hand over without a copy. */
  readonly transfer: (buffers: readonly Transferable[]) => void;
}

export type Handlers<P extends Protocol> = {
  readonly [K in CallName<P>]: (
    request: Request<P, K>,
    context: CallContext,
  ) => Promise<Response<P, K>> | Response<P, K>;
};

export interface EventPort<P extends Protocol> {
  readonly emit: (event: P["events"], transfer?: readonly Transferable[]) => void;
}

/** Starts serving this worker's owner. `close` runs before the thread ends. Throws outside a worker thread. */
export const serve = <P extends Protocol>(handlers: Handlers<P>, close: () => Promise<void>): EventPort<P> => {
  const port = parentPort;
  if (port === null) throw new Error("serve must run in a worker thread");
  const cancels = new Map<number, () => void>();
  const post = (message: FromThread<P>, transfer: readonly Transferable[] = []): void =>
    port.postMessage(message, transfer);

  const call = async (id: number, name: CallName<P>, request: Request<P, CallName<P>>): Promise<void> => {
    let buffers: readonly Transferable[] = [];
    const context: CallContext = {
      onCancel: (listener) => cancels.set(id, listener),
      transfer: (handedOver) => {
        buffers = handedOver;
      },
    };
    try {
      const response = await handlers[name](request, context);
      post({ _tag: "answer", id, response }, buffers);
    } catch (error) {
      const code = error instanceof CallError ? error.code : "failed";
      post({ _tag: "failure", id, code, error: toPortable(error) });
    } finally {
      cancels.delete(id);
    }
  };

  port.on("message", (message: ToThread<P>) => {
    switch (message._tag) {
      case "call":
        void call(message.id, message.name, message.request);
        return;
      case "cancel":
        cancels.get(message.id)?.();
        return;
      case "close":
        void close().finally(() => port.close());
    }
  });
  // The thread may be ended without notice, and its code is loaded by now.
  flushCompileCache();
  return { emit: (event, transfer) => post({ _tag: "event", event }, transfer) };
};
