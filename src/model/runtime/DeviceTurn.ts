/**
 * Turns on the process's one WebGPU device. Sessions of several threads share a context that is not made for it: two runs at once end the
 * process. A thread therefore takes a turn for whatever touches the device: a run, opening and closing a session, giving a tensor back.
 * Invariant: turns do not overlap, in the whole process, and are given in the order they are asked for.
 */
import { getEnvironmentData, setEnvironmentData } from "node:worker_threads";

const KEY = "millrace.device-turns";

/** The next turn to give out, and the one that may run. */
const counters = (): Int32Array => {
  const shared: unknown = getEnvironmentData(KEY);
  if (shared instanceof SharedArrayBuffer) return new Int32Array(shared);
  const fresh = new SharedArrayBuffer(8);
  setEnvironmentData(KEY, fresh);
  return new Int32Array(fresh);
};

/** Threads that are started from here on share this thread's turns. Called before each is started. */
export const shareTurns = (): void => {
  counters();
};

const GIVEN = 0;
const RUNNING = 1;

/** Runs `work` in a turn of its own; its failure ends the turn too. `work` must not ask for another turn. */
export const takeTurn = async <A>(work: () => Promise<A> | A): Promise<A> => {
  const turns = counters();
  const ticket = Atomics.add(turns, GIVEN, 1);
  for (let running = Atomics.load(turns, RUNNING); running !== ticket; running = Atomics.load(turns, RUNNING))
    await Atomics.waitAsync(turns, RUNNING, running).value;
  try {
    return await work();
  } finally {
    Atomics.add(turns, RUNNING, 1);
    Atomics.notify(turns, RUNNING);
  }
};
