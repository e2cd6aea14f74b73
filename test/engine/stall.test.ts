import { describe, it } from "@effect/vitest";
import { Cause, Effect, Exit } from "effect";
import { expect } from "vitest";
import type { Event } from "../../src/domain/Event.ts";
import { reachConfig } from "../build/config.ts";
import { eventsOf, type Fates, inFolder, mixed, newest, resume, train } from "./fakes.ts";

const never = 1_000_000;
const config = (trainer: object = {}, rest: object = {}) =>
  reachConfig({
    pipeline: { mode: "sync", stall_abort_ms: 200 },
    trainer: { total_training_steps: 4, ...trainer },
    ...rest,
  });
/** Episodes of `group` never get their answer, from the generator or from the environment. */
const hung =
  (group: number, part: "replyMs" | "stepMs"): Fates =>
  (number, member) => ({ ...mixed(number, member), ...(number === group ? { [part]: never } : {}) });

const failureOf = (exit: Exit.Exit<unknown, unknown>): unknown =>
  Exit.isFailure(exit) ? Cause.squash(exit.cause) : null;

describe("a run in which nothing happens for stall_abort_ms", () => {
  for (const [who, part, waits] of [
    ["a generator", "replyMs", /rollout waits for generate, which waits for answers to [12] of/],
    ["an environment", "stepMs", /rollout waits for environments or agents on [12] of/],
  ] as const) {
    it.live(`ends with a checkpoint of its closed step where ${who} never answers, and a resume goes on`, () =>
      inFolder(
        Effect.fnUntraced(function* (folder) {
          const events: Event[] = [];
          const exit = yield* Effect.exit(
            train({ config: config(), fates: hung(4, part), folder, onEvent: (event) => void events.push(event) }),
          );
          const error = failureOf(exit);
          expect(error).toMatchObject({ _tag: "RunStalled", message: expect.stringMatching(waits) });
          expect(error).toMatchObject({
            message: expect.stringMatching(/^nothing has happened for 0\.[2-4] s, since 1970.*step-2$/),
          });
          expect(eventsOf(events, "Stopped")).toMatchObject([
            { reason: "stalled", message: expect.stringMatching(waits) },
          ]);
          const { learner, state } = yield* newest(folder);
          expect([state.step, learner, state.reason]).toEqual([2, 2, "complete"]);
          expect(state.seeds.returned).toContain(4);
          const second = yield* resume({ config: config(), folder });
          expect(second.ended).toMatchObject({ step: 4, reason: "complete" });
        }),
      ),
    );
  }

  it.live("keeps the checkpoint before where the learner never answers: the update in progress is in none", () =>
    inFolder(
      Effect.fnUntraced(function* (folder) {
        yield* train({ config: config({ total_training_steps: 1 }), folder });
        const exit = yield* Effect.exit(resume({ config: config(), updateMs: never, folder }));
        const { message } = failureOf(exit) as Error;
        expect(message).toMatch(/: learn waits for its own work on 1 of 1 slot .*; the update in progress is lost/);
        expect(message).toMatch(/; the newest checkpoint is \S+step-1$/);
        expect((yield* newest(folder)).state.step).toBe(1);
      }),
    ),
  );

  it.live("says that there is no checkpoint where the first update never ends", () =>
    inFolder(
      Effect.fnUntraced(function* (folder) {
        const exit = yield* Effect.exit(train({ config: config(), updateMs: never, folder }));
        expect(failureOf(exit)).toMatchObject({ message: expect.stringMatching(/; there is no checkpoint$/) });
      }),
    ),
  );

  it.live("cuts the validation that never ends, and closes its step", () =>
    inFolder(
      Effect.fnUntraced(function* (folder) {
        const fates: Fates = (number, member) => mixed(number, member);
        const exit = yield* Effect.exit(
          train({ config: config({ test_freq: 2 }), fates, validationMs: never, folder }),
        );
        expect(failureOf(exit)).toMatchObject({
          message: expect.stringMatching(/: close waits for generate, .*step-2$/),
        });
        expect((yield* newest(folder)).state.step).toBe(2);
      }),
    ),
  );

  it.live("ends a stop whose groups never end, before its deadline", () =>
    inFolder(
      Effect.fnUntraced(function* (folder) {
        const exit = yield* Effect.exit(
          train({
            config: config(),
            fates: hung(4, "replyMs"),
            folder,
            onEvent: (event, stop) => {
              if (event._tag === "Admitted" && event.group === 5) stop();
            },
          }),
        );
        expect(failureOf(exit)).toMatchObject({ _tag: "RunStalled" });
        expect((yield* newest(folder)).state.step).toBe(2);
      }),
    ),
  );
});
