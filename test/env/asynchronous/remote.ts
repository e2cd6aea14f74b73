/**
 * A pure environment played by a fake server: every episode opens a session with its first step, and its state names the session. The
 * server counts what happens, and behaves as a test tells it to.
 */
import type { BoundAsyncEnvironment, BoundEnvironment } from "../../../src/env/contract/BoundEnvironment.ts";

export interface Side {
  /** Sessions not released yet. */
  readonly open: Set<number>;
  /** Actions and resets in the order they were asked, releases as `release`. */
  readonly asked: string[];
  /** Requests that were aborted. */
  aborted: number;
  /** Requests in flight now, and their maximum. */
  inFlight: number;
  most: number;
  /** Sessions opened so far. */
  opened: number;
  /** Releases of a session that was not open. */
  twice: number;
}

export interface RemoteOptions {
  readonly capacity?: number;
  readonly timeoutMs?: number;
  /** False: nothing is opened, and states are the same every time. */
  readonly sessions?: boolean;
  /** Awaited before the answer to an action, to a reset (`reset`) or to a `release`; a rejection refuses it. */
  readonly behave?: (action: string, signal: AbortSignal | null) => Promise<void>;
}

interface Held {
  readonly session: number | null;
  readonly inner: unknown;
}

const remoteState = (state: unknown): Held => state as Held;

export const remote = (
  environment: BoundEnvironment,
  { behave = async () => undefined, capacity = 8, sessions = true, timeoutMs = 1000 }: RemoteOptions = {},
): { readonly environment: BoundAsyncEnvironment; readonly side: Side } => {
  const side: Side = { open: new Set(), asked: [], aborted: 0, inFlight: 0, most: 0, opened: 0, twice: 0 };
  const question = async <A>(action: string, signal: AbortSignal | null, answer: () => A): Promise<A> => {
    side.asked.push(action);
    side.inFlight++;
    side.most = Math.max(side.most, side.inFlight);
    signal?.addEventListener("abort", () => void side.aborted++);
    try {
      await behave(action, signal);
      return answer();
    } finally {
      side.inFlight--;
    }
  };
  const waiting: BoundAsyncEnvironment = {
    type: environment.type,
    asynchronous: true,
    legend: environment.legend,
    wholeAnswer: environment.wholeAnswer,
    wholeRewards: environment.wholeRewards,
    actionsInState: environment.actionsInState,
    describe: null,
    lacks: environment.lacks,
    report: null,
    prepare: environment.prepare,
    capacity,
    timeoutMs,
    render: (state) => environment.render(remoteState(state).inner),
    compact: (state) => environment.compact(remoteState(state).inner),
    actions: (state) => environment.actions(remoteState(state).inner),
    contentKey: (state) => environment.contentKey(remoteState(state).inner),
    reset: (instance, split, signal) =>
      question("reset", signal, (): Held => ({ session: null, inner: environment.reset(instance, split) })),
    step: async (state, action, noise, signal) => {
      const { inner, session: before } = remoteState(state);
      const session = sessions ? (before ?? ++side.opened) : null;
      if (session !== null) side.open.add(session);
      try {
        return await question(action, signal, () => {
          const transition = environment.step(inner, action, noise);
          const after: Held = { session, inner: transition.state };
          return { ...transition, state: after };
        });
      } catch (cause) {
        // No state names this session yet, so that this step must close it.
        if (session !== null && before === null) side.open.delete(session);
        throw cause;
      }
    },
    release: (state) =>
      question("release", null, () => {
        const { session } = remoteState(state);
        if (session !== null && !side.open.delete(session)) side.twice++;
      }),
  };
  return { environment: waiting, side };
};

/** Rejects as soon as the signal aborts, and never resolves. */
export const untilAborted = (signal: AbortSignal | null): Promise<never> =>
  new Promise((_, reject) => signal?.addEventListener("abort", () => reject(new Error("aborted"))));

/** A promise and the function that resolves it. */
export const gate = (): { readonly open: () => void; readonly opened: Promise<void> } => {
  const { promise, resolve } = Promise.withResolvers<void>();
  return { open: resolve, opened: promise };
};
