import { readdirSync } from "node:fs";
import { describe, it } from "@effect/vitest";
import { Effect } from "effect";
import { expect } from "vitest";
import { LearnerError } from "../../src/domain/Errors.ts";
import type { Event } from "../../src/domain/Event.ts";
import { reachConfig } from "../build/config.ts";
import { eventsOf, inFolder, newest, resume, train } from "./fakes.ts";

const config = reachConfig({ trainer: { save_freq: 1, max_checkpoints: 9 } });

/** The learner's thread meets a full disk: the system's error is the cause of its failure. */
const noRoom = (code: string): LearnerError => {
  const cause = Object.assign(new Error(`${code}: no room, write`), { code });
  return new LearnerError({
    reason: "session_failed",
    message: `weights: ${code}`,
    cause: new Error("write", { cause }),
  });
};

describe("a full disk under a checkpoint", () => {
  for (const code of ["ENOSPC", "EDQUOT"]) {
    it.live(`(${code}) skips that save, says so, and the next one that is due is written`, () =>
      inFolder(
        Effect.fnUntraced(function* (folder) {
          const { ended, events } = yield* train({
            config,
            folder,
            failSave: (save) => (save === 2 || save === 3 ? noRoom(code) : null),
          });
          expect(ended).toMatchObject({ step: 4, reason: "complete", checkpoint: expect.stringMatching(/step-4$/) });
          const skipped = eventsOf(events, "CheckpointSkipped").map(({ reason, step }) => ({ reason, step }));
          expect(skipped).toEqual([2, 3].map((step) => ({ step, reason: `weights: ${code}` })));
          expect(readdirSync(folder.checkpoints).sort()).toEqual(["step-1", "step-4"]);
        }),
      ),
    );
  }

  it.live("fails the run where it is the last one; the run goes on from the one before", () =>
    inFolder(
      Effect.fnUntraced(function* (folder) {
        const events: Event[] = [];
        const failure = yield* Effect.flip(
          train({
            config,
            folder,
            failSave: (save) => (save >= 4 ? noRoom("ENOSPC") : null),
            onEvent: (event) => void events.push(event),
          }),
        );
        expect(failure).toMatchObject({ _tag: "CheckpointSpaceError" });
        expect(failure.message).toMatch(
          /^the last checkpoint, of step 4, could not be written: weights: ENOSPC; the newest one is .*step-3$/,
        );
        expect(eventsOf(events, "CheckpointSkipped").map(({ step }) => step)).toEqual([4, 4]);
        expect((yield* newest(folder)).state.step).toBe(3);
        expect((yield* resume({ config, folder })).ended).toMatchObject({ step: 4, reason: "complete" });
      }),
    ),
  );

  it.live("does not hide another failure of a save, which still ends the run", () =>
    inFolder(
      Effect.fnUntraced(function* (folder) {
        const error = new LearnerError({ reason: "session_failed", message: "the graph refused" });
        const failure = yield* Effect.flip(train({ config, folder, failSave: (save) => (save === 2 ? error : null) }));
        expect(failure).toBe(error);
      }),
    ),
  );
});
