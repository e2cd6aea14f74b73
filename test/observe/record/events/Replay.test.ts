import { HashMap } from "effect";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { EventLine, LineContent } from "../../../../src/observe/record/events/EventLine.ts";
import * as Replay from "../../../../src/observe/record/events/Replay.ts";
import { wayOfTwo } from "../../../build/events.ts";
import { assertProperty } from "../../../property.ts";

const lines = (...happenings: readonly LineContent[]): readonly EventLine[] =>
  happenings.map((happening, i) => ({ step: 1, at: 10 * (i + 1), ...happening }));

const replayOf = (...happenings: readonly LineContent[]): Replay.Replay =>
  lines(...happenings).reduce(Replay.observe, Replay.initial);

describe("the replay of a run", () => {
  it("counts steps, versions and adoptions, and says how the run ended", () => {
    const replay = replayOf(
      ...wayOfTwo,
      { _tag: "WeightsAdopted", version: 1 },
      { _tag: "End", outcome: "failed", message: "no disk" },
    );
    expect(Replay.keyframeOf(replay)).toMatchObject({
      step: 1,
      version: 1,
      adopted: 1,
      ended: { outcome: "failed", message: "no disk" },
    });
  });

  it("holds the newest state of each server; a run that goes on begins without any", () => {
    const up: LineContent = { _tag: "ServerChanged", role: "generator", name: "a", state: { _tag: "Up" } };
    const gone: LineContent = { ...up, state: { _tag: "Lost", since: 5, why: "it ended" } };
    const replay = replayOf(up, { ...up, name: "b" }, gone);
    expect(replay.servers).toEqual([
      { role: "generator", name: "a", state: { _tag: "Lost", since: 5, why: "it ended" } },
      { role: "generator", name: "b", state: { _tag: "Up" } },
    ]);
    expect(Replay.observe(replay, { at: 99, _tag: "Resumed", step: 0 }).servers).toEqual([]);
  });

  it("is paused between the two controls", () => {
    const pause: LineContent = { _tag: "Controlled", control: { _tag: "PauseAdmission" }, by: "page" };
    expect(replayOf(pause).progress.paused).toBe(true);
    expect(replayOf(pause, { ...pause, control: { _tag: "ResumeAdmission" } }).progress.paused).toBe(false);
  });

  it("goes on from a checkpoint without the groups that were in flight", () => {
    const replay = replayOf(...wayOfTwo.slice(0, 6), { _tag: "Resumed", step: 0 });
    expect([HashMap.size(replay.groups), replay.progress.step, replay.ended]).toEqual([0, 0, null]);
  });

  it("is the same from a keyframe as from the beginning, wherever the keyframe stands", () => {
    assertProperty(
      fc.property(fc.nat(wayOfTwo.length), (cut) => {
        const all = lines(...wayOfTwo);
        const whole = all.reduce(Replay.observe, Replay.initial);
        const frame = Replay.keyframeOf(all.slice(0, cut).reduce(Replay.observe, Replay.initial));
        const plain: typeof frame = JSON.parse(JSON.stringify(frame));
        const resumed = all.slice(cut).reduce(Replay.observe, Replay.fromKeyframe(plain));
        const sorted = (replay: Replay.Replay) => {
          const { groups, ...rest } = Replay.keyframeOf(replay);
          return { ...rest, groups: groups.toSorted((a, b) => a.group - b.group) };
        };
        expect(sorted(resumed)).toEqual(sorted(whole));
      }),
    );
  });
});
