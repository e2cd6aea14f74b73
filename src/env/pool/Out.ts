/**
 * A batch that is out with its thread, and the wait for its reply. A wait ends at the reply, at the loss of the thread, or when the thread
 * has been at one place for too long: at a request longer than the limit, or silent between them.
 */
import { Effect, Option } from "effect";
import type { Request } from "../contract/Request.ts";
import type { Standing } from "./cells.ts";
import type { Thread, ThreadLost } from "./Thread.ts";
import type { How, Reply } from "./worker.ts";

export interface Out {
  readonly thread: Thread;
  readonly requests: readonly Request[];
  /** A request is interrupted in its thread after so many milliseconds; null where none is. */
  readonly limitMs: number | null;
  readonly reply: Promise<Reply | ThreadLost>;
}

/** The thread is at request `at` for too long; null where it is at none. */
export class Silent {
  readonly at: number | null;
  readonly spentMs: number;
  constructor(at: number | null, spentMs: number) {
    this.at = at;
    this.spentMs = spentMs;
  }
}

export interface Patience {
  /** At one request, milliseconds. */
  readonly requestMs: number;
  /** Between requests, from when it is first noticed: an answer may wait for a busy main thread. */
  readonly silenceMs: number;
}

export const send = (thread: Thread, requests: readonly Request[], how: How): Out => ({
  thread,
  requests,
  limitMs: how.limitMs,
  reply: thread.post(requests, how),
});

const sameIdle = (a: Standing | null, b: Standing): boolean => a !== null && a.at === null && a.done === b.done;

export const watch = Effect.fnUntraced(function* (
  { reply, thread }: Out,
  { requestMs, silenceMs }: Patience,
): Effect.fn.Return<Reply | ThreadLost | Silent> {
  const answered = Effect.promise(() => reply);
  let idle: Standing | null = null;
  let standing = thread.standing();
  for (;;) {
    const wait = standing.at === null && idle !== null ? silenceMs : requestMs - standing.spentMs;
    const settled = yield* Effect.timeoutOption(answered, Math.max(1, wait));
    if (Option.isSome(settled)) return settled.value;
    standing = thread.standing();
    if (standing.at !== null) {
      idle = null;
      if (standing.spentMs >= requestMs) return new Silent(standing.at, standing.spentMs);
    } else {
      if (sameIdle(idle, standing)) return new Silent(null, 0);
      idle = standing;
    }
  }
});
