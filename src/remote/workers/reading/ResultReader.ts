/**
 * Reads workers' results in a thread of its own. Results that arrive while the thread works go to it in one batch. Invariant: the main
 * thread decodes nothing from other machines; it only assembles groups that the thread has checked.
 */
import { Effect, Fiber, Queue, type Scope } from "effect";
import { PolicyError } from "../../../domain/Errors.ts";
import type { Group, Prompt } from "../../../domain/Group.ts";
import { make as makeThread, type ThreadFailure } from "../../../model/runtime/Thread.ts";
import * as GroupCodec from "../GroupCodec.ts";
import type { GroupFlaw } from "../groupFlaw.ts";
import { checkResult } from "./checkResult.ts";
import type { CheckedResult, GroupResult, ReadingRules, ResultReaderProtocol } from "./protocol.ts";

export type ResultReading =
  | { readonly _tag: "Group"; readonly group: Group }
  | { readonly _tag: "Flawed"; readonly flaw: GroupFlaw };

export type ReadResult = (result: GroupResult) => Effect.Effect<ResultReading>;

export interface ResultReader {
  readonly read: ReadResult;
  /** Fails once the thread is gone. */
  readonly died: Effect.Effect<never, PolicyError>;
}

/** Results of one batch: assembling a batch's groups holds the main thread up. */
const BATCH_RESULTS = 8;
/** Batches in flight: one that the thread works on, and one that waits there. */
const BATCHES_AT_ONCE = 2;

interface PendingResult {
  readonly result: GroupResult;
  readonly resume: (reading: ResultReading) => void;
}

/** Assembles a checked result in the main thread. */
export const readingFrom = (answer: CheckedResult, prompt: Prompt): ResultReading => {
  if (answer._tag === "Flawed") return answer;
  const { counts, json, numbers } = answer;
  // Our own thread has written this JSON, after its schema has decoded it.
  const text: GroupCodec.GroupText = JSON.parse(json);
  return { _tag: "Group", group: GroupCodec.assembleGroup({ text, numbers, counts }, prompt) };
};

/** Reads results in the caller's thread, for callers with few results. */
export const readInThisThread =
  (rules: ReadingRules): ReadResult =>
  (result) =>
    Effect.sync(() => readingFrom(checkResult(result, rules), result.prompt));

const broken = ({ cause, message }: ThreadFailure): PolicyError =>
  new PolicyError({ reason: "session_failed", message: `results of workers cannot be read: ${message}`, cause });

export const make = Effect.fnUntraced(function* (
  rules: ReadingRules,
): Effect.fn.Return<ResultReader, PolicyError, Scope.Scope> {
  const thread = yield* makeThread<ResultReaderProtocol, PolicyError>({
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
  const waiting = yield* Queue.unbounded<PendingResult>();
  const readBatch = Effect.gen(function* () {
    const batch = yield* Queue.takeBetween(waiting, 1, BATCH_RESULTS);
    // The bytes are copied so that they can be transferred: a result is a view of a shared buffer.
    const results = batch.map(({ result }) => ({ ...result, bytes: new Uint8Array(result.bytes) }));
    const answers = yield* thread.call(
      "read",
      results,
      results.map(({ bytes }) => bytes.buffer),
    );
    for (const [i, { result, resume }] of batch.entries()) {
      const answer = answers[i];
      if (answer !== undefined) resume(readingFrom(answer, result.prompt));
    }
  });
  const readers = yield* Effect.forEach(Array.from({ length: BATCHES_AT_ONCE }), () =>
    Effect.forkScoped(Effect.forever(readBatch)),
  );
  return {
    read: (result) =>
      Effect.callback((resume) => {
        Queue.offerUnsafe(waiting, { result, resume: (reading) => resume(Effect.succeed(reading)) });
      }),
    // If a reader fiber fails, pending results would never be answered.
    died: Effect.raceAllFirst([thread.died, ...readers.map((fiber) => Fiber.join(fiber))]),
  };
});
