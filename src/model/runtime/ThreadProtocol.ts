/**
 * Messages between a thread's owner (Thread.ts) and the code inside it (serve.ts): calls with ids, answers, cancellations and events.
 * A `Protocol` types them, so both ends agree at compile time. Invariant: every call is answered once, or its thread dies.
 */
import type { Transferable } from "node:worker_threads";
import type { PortableError } from "./PortableError.ts";

/** Calls and events of one kind of thread. Values must be structured-cloneable. */
export interface Protocol {
  /** Name to request and response. */
  readonly calls: Readonly<Record<string, { readonly request: unknown; readonly response: unknown }>>;
  /** Messages of the thread to its owner that answer no call. */
  readonly events: unknown;
}

export type CallName<P extends Protocol> = keyof P["calls"] & string;
export type Request<P extends Protocol, K extends CallName<P>> = P["calls"][K]["request"];
export type Response<P extends Protocol, K extends CallName<P>> = P["calls"][K]["response"];

export type ToThread<P extends Protocol> =
  | {
      readonly _tag: "call";
      readonly id: number;
      readonly name: CallName<P>;
      readonly request: Request<P, CallName<P>>;
    }
  | { readonly _tag: "cancel"; readonly id: number }
  | { readonly _tag: "close" };

export type FromThread<P extends Protocol> =
  | { readonly _tag: "answer"; readonly id: number; readonly response: Response<P, CallName<P>> }
  | { readonly _tag: "failure"; readonly id: number; readonly code: string; readonly error: PortableError }
  | { readonly _tag: "event"; readonly event: P["events"] };

export type { Transferable };
