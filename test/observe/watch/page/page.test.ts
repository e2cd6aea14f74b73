/**
 * The frame around the views: the token in the address, the shown run, the messages of controls, and requests to the server.
 */
import { describe, expect, it } from "vitest";
import type { RunCard, Timeline } from "../../../../src/observe/watch/Api.ts";
import { query } from "../../../../src/observe/watch/page/Client.ts";
import { doneText, refusalText } from "../../../../src/observe/watch/page/controls/wording.ts";
import { cardAt, chooseRun, withNews } from "../../../../src/observe/watch/page/currentRun.ts";
import { fileNameOf } from "../../../../src/observe/watch/page/curves/png.ts";
import { slotsIn } from "../../../../src/observe/watch/page/line/SlotStepper.ts";
import { placesOf } from "../../../../src/observe/watch/page/line/Weights.ts";
import { ticked } from "../../../../src/observe/watch/page/runs/Runs.ts";
import { scaleOf } from "../../../../src/observe/watch/page/timeline/scale.ts";
import { splitToken } from "../../../../src/observe/watch/page/token.ts";

const card = (id: string, change: Partial<RunCard> = {}): RunCard => ({
  id,
  name: id,
  stamp: "s",
  state: "running",
  message: null,
  mode: "async",
  maxStaleness: 1,
  seed: 0,
  step: 3,
  steps: 9,
  started: 0,
  last: 10,
  controllable: true,
  ...change,
});

const here = { past: false, lost: false };

describe("the token", () => {
  it("is taken out of the address wherever it stands", () => {
    expect(splitToken("#token=abc")).toEqual({ hash: "#", token: "abc" });
    expect(splitToken("#token=abc&x")).toEqual({ hash: "#x", token: "abc" });
    expect(splitToken("#/line?token=a%2Bb")).toEqual({ hash: "#/line", token: "a+b" });
    expect(splitToken("#/line?at=5&token=abc")).toEqual({ hash: "#/line?at=5", token: "abc" });
    expect(splitToken("#/line?token=abc&at=5")).toEqual({ hash: "#/line?at=5", token: "abc" });
  });

  it("is none where the address has none", () => {
    expect(splitToken("#/line?at=5")).toEqual({ hash: "#/line?at=5", token: null });
  });
});

describe("the run that is shown", () => {
  const runs = [
    card("old", { state: "completed", started: 1 }),
    card("live", { started: 2 }),
    card("new", { state: "dead", started: 3 }),
  ];

  it("is the one asked for, else the one that runs, else the newest", () => {
    expect(chooseRun(runs, "old")?.id).toBe("old");
    expect(chooseRun(runs, "none")).toBeNull();
    expect(chooseRun(runs, null)?.id).toBe("live");
    expect(chooseRun([runs[0]!, runs[2]!], null)?.id).toBe("new");
    expect(chooseRun([], null)).toBeNull();
  });

  it("takes no controls once its stream has told that it ended", () => {
    const run = withNews(card("a"), { ended: "dead", line: null, step: 7 });
    expect([run.state, run.step, run.controllable]).toEqual(["dead", 7, false]);
    expect(refusalText(run, here)).toBe("The run is over (dead).");
  });
});

describe("a run at a past moment", () => {
  const timeline: Timeline = {
    from: 0,
    to: 400,
    steps: [1, 2, 3, 4].map((step) => ({ at: 100 * step, step })),
    marks: [
      { at: 200, step: 2, kind: "end", text: "stopped", outcome: "stopped" },
      { at: 250, step: 2, kind: "resume", text: "goes on from step 2" },
      { at: 400, step: 4, kind: "end", text: "failed: no", outcome: "failed" },
    ],
  };
  const run = card("a", { state: "failed", step: 4, steps: 4, last: 400, message: "no" });
  const at = (moment: number | null) => cardAt(run, moment, scaleOf(timeline, null), timeline);

  it("has the state, step and time of then", () => {
    const seen = [150, 200, 260, 400].map(at).map(({ last, message, state, step }) => [last, step, state, message]);
    expect(seen).toEqual([
      [150, 1, "running", null],
      [200, 2, "stopped", null],
      [260, 2, "running", null],
      [400, 4, "failed", null],
    ]);
  });

  it("is as it is now at no moment, and before its timeline is read", () => {
    expect([at(null), cardAt(run, 150, null, null)]).toEqual([run, run]);
  });
});

describe("a control", () => {
  it("says why it cannot be used", () => {
    expect(refusalText(card("a"), here)).toBeNull();
    expect(refusalText(card("a"), { ...here, past: true })).toMatch(/live/);
    expect(refusalText(card("a"), { ...here, lost: true })).toMatch(/server does not answer/);
    expect(refusalText(card("a", { controllable: false }), here)).toMatch(/cannot be reached/);
  });

  it("says what it did", () => {
    expect(doneText({ _tag: "SetConcurrency", stage: "rollout", concurrency: 1 })).toBe(
      "rollout has 1 slot from here on.",
    );
    const tags = ["PauseAdmission", "ResumeAdmission", "Validate", "Checkpoint", "Stop"] as const;
    expect(new Set(tags.map((_tag) => doneText({ _tag }))).size).toBe(5);
  });

  it("takes whole slots in their bounds alone", () => {
    expect(["1", " 16 ", "65536", "0", "65537", "1.5", "-3", "", "1e3"].map(slotsIn)).toEqual([
      1,
      16,
      65_536,
      null,
      null,
      null,
      null,
      null,
      null,
    ]);
  });
});

it("a question names what is set, once for each of several", () => {
  expect(query({ name: ["a/b", "c"], from: 0, to: undefined, tag: null })).toBe("?name=a%2Fb&name=c&from=0");
  expect(query({})).toBe("");
});

it("the name of a picture's file leads to no folder", () => {
  expect(["train/success", "../../etc", "a b", ".hidden"].map(fileNameOf)).toEqual([
    "train_success",
    "_.._etc",
    "a_b",
    "hidden",
  ]);
});

it("adoptions lie on their strip from the oldest to now", () => {
  const places = placesOf(
    [
      { at: 0, version: 1 },
      { at: 50, version: 2 },
    ],
    100,
  );
  expect(places.map(({ share }) => share)).toEqual([0, 0.5]);
  expect(placesOf([], 100)).toEqual([]);
});

it("a run is laid over the others once", () => {
  expect([ticked(["a"], "b", true), ticked(["a"], "a", true), ticked(["a", "b"], "a", false)]).toEqual([
    ["a", "b"],
    ["a"],
    ["b"],
  ]);
});
