import { describe, expect, it } from "vitest";
import { decode, type EventLine, encode } from "../../../../src/observe/record/events/EventLine.ts";
import * as Replay from "../../../../src/observe/record/events/Replay.ts";
import { keyframeOf, observe } from "../../../../src/observe/record/events/Replay.ts";
import { sample, stage } from "../../sinks/fixtures.ts";

const stamp = { step: 3, at: 1_000 };
const gauges = sample(1_500, [stage("rollout", { busyMs: 12.5, items: 3 }), stage("step", { kind: "service" })], 40);
const finished: EventLine = {
  ...stamp,
  _tag: "Finished",
  group: 7,
  tokens: 12,
  failed: false,
  tag: "A",
  episodes: [
    {
      success: true,
      reward: 0.9,
      turns: 2,
      versions: [
        [1, 5],
        [2, 7],
      ],
      failed: false,
    },
    { success: false, reward: -0.1, turns: 0, versions: [], failed: true },
  ],
};

describe("a line of events.jsonl", () => {
  it.each<EventLine>([
    finished,
    { ...stamp, _tag: "Gauges", sample: gauges },
    { ...stamp, _tag: "Admitted", group: 7, window: 2 },
    { ...stamp, _tag: "Controlled", control: { _tag: "SetConcurrency", stage: "step", concurrency: 2 }, by: "shell" },
    { ...stamp, _tag: "Keyframe", frame: keyframeOf({ ...observe(Replay.initial, finished), sample: gauges }) },
  ])("is read as it was written: $_tag", (line) => {
    expect(decode(encode(line))).toEqual(line);
  });

  it("keeps times of gauges to a tenth of a millisecond", () => {
    const line = decode(encode({ ...stamp, _tag: "Gauges", sample: sample(1.26, [stage("a", { busyMs: 7.04 })]) }));
    expect(line).toMatchObject({ sample: { elapsedMs: 1.3, stages: [{ name: "a", busyMs: 7 }] } });
  });

  it.each(["", "{", "[]", "null", '{"_tag":"Admitted"}', '{"_tag":"Admitted","step":"1","at":2}'])(
    "is none: %s",
    (text) => {
      expect(decode(text)).toBeNull();
    },
  );
});
