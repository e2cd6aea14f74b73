/**
 * Reads results of workers on a thread of its own, and makes groups of what has passed. What comes while the thread is at work goes to it together.
 * Invariant: the main thread decodes nothing that came from outside; it puts together what the thread has checked.
 */
import { Effect, Fiber, Queue, type Scope } from "effect";
import { PolicyError } from "../../../domain/Errors.ts";
import type { Group, Prompt } from "../../../domain/Group.ts";
import { make as makeThread, type ThreadFailure } from "../../../model/runtime/Thread.ts";
import type { Flaw } from "../examine.ts";
import * as GroupCodec from "../GroupCodec.ts";
import { answerTo } from "./answer.ts";
import type { Answer, ReadProtocol, Result, Rules } from "./protocol.ts";

export type Found =
  | { readonly _tag: "Group"; readonly group: Group }
  | { readonly _tag: "Flawed"; readonly flaw: Flaw };

export type Read = (result: Result) => Effect.Effect<Found>;

export interface Reader {
  readonly read: Read;
  /** Suspends until the thread is gone, and fails. */
  readonly died: Effect.Effect<never, PolicyError>;
}

/** Results that go to the thread together at most: what comes back of them holds the main thread up by so many. */
const TOGETHER = 8;
/** Batches under way: one that the thread works on, and one that waits there. */
const UNDER_WAY = 2;

interface Waiting {
  readonly result: Result;
  readonly resume: (found: Found) => void;
}

/** What the main thread does of it all. */
export const foundOf = (answer: Answer, prompt: Prompt): Found => {
  if (answer._tag === "Flawed") return answer;
  const { counts, json, numbers } = answer;
  // Written by our own thread, of what its schema has decoded.
  const text: GroupCodec.GroupText = JSON.parse(json);
  return { _tag: "Group", group: GroupCodec.groupOf({ text, numbers, counts }, prompt) };
};

/** Reads in the caller's thread, for who has no results to speak of. */
export const here =
  (rules: Rules): Read =>
  (result) =>
    Effect.sync(() => foundOf(answerTo(result, rules), result.prompt));

const broken = ({ cause, message }: ThreadFailure): PolicyError =>
  new PolicyError({ reason: "session_failed", message: `results of workers cannot be read: ${message}`, cause });

export const make = Effect.fnUntraced(function* (rules: Rules): Effect.fn.Return<Reader, PolicyError, Scope.Scope> {
  const thread = yield* makeThread<ReadProtocol, PolicyError>({
    url: new URL("./readThread.ts", import.meta.url),
    name: "results",
    fail: broken,
  });
  const { limits, vocabulary } = rules;
  const { max_actions_per_turn, max_model_len, max_turn, response_length, summary_length } = limits;
  yield* thread.call("start", {
    limits: { max_actions_per_turn, max_model_len, max_turn, response_length, summary_length },
    vocabulary,
  });
  const waiting = yield* Queue.unbounded<Waiting>();
  const together = Effect.gen(function* () {
    const batch = yield* Queue.takeBetween(waiting, 1, TOGETHER);
    // A copy, which can be handed over: a result is a view of a buffer that others look at too.
    const results = batch.map(({ result }) => ({ ...result, bytes: new Uint8Array(result.bytes) }));
    const answers = yield* thread.call(
      "read",
      results,
      results.map(({ bytes }) => bytes.buffer),
    );
    for (const [i, { result, resume }] of batch.entries()) {
      const answer = answers[i];
      if (answer !== undefined) resume(foundOf(answer, result.prompt));
    }
  });
  const reading = yield* Effect.forEach(Array.from({ length: UNDER_WAY }), () =>
    Effect.forkScoped(Effect.forever(together)),
  );
  return {
    read: (result) =>
      Effect.callback((resume) => {
        Queue.offerUnsafe(waiting, { result, resume: (found) => resume(Effect.succeed(found)) });
      }),
    // Where one of them ends, nobody may be answered any more.
    died: Effect.raceAllFirst([thread.died, ...reading.map((fiber) => Fiber.join(fiber))]),
  };
});
