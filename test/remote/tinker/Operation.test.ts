/** The next action after every documented answer of a Tinker server. */
import { describe, expect, it } from "vitest";
import type { Instant } from "../../../src/domain/Instant.ts";
import {
  type AttemptResult,
  type Content,
  initialState,
  type NextAction,
  nextAction,
  type OperationState,
  type ResendRule,
} from "../../../src/remote/tinker/Operation.ts";

const json = (value: unknown): Content => ({ _tag: "json", value });
const answer = (status: number, value: unknown = {}, retryAfterMs: number | null = null): AttemptResult => ({
  _tag: "answer",
  status,
  content: json(value),
  retryAfterMs,
});
const silence = (more: Partial<Extract<AttemptResult, { _tag: "silence" }>> = {}): AttemptResult => ({
  _tag: "silence",
  unsent: false,
  late: false,
  why: "the connection broke",
  ...more,
});
const rules = (resending: ResendRule, direct = false) => ({ resending, direct, outageMs: 60_000 });
const polling: OperationState = { ...initialState, phase: { _tag: "poll", id: "f" } };
const instant = (ms: number): Instant => ({ monotonic: ms, unix: 1_000_000 + ms });
const at = (now: number, tookMs = 5_000) => ({ now: instant(now), tookMs });
const following = (
  state: OperationState,
  what: AttemptResult,
  resending: ResendRule = "unseen",
  direct = false,
): NextAction => nextAction(state, what, rules(resending, direct), at(1_000));

/** The next action in a few words. */
const shown = (next: NextAction): string => {
  if (next._tag === "done") return "done";
  if (next._tag === "failed") return next.failure.reason;
  return `${next.state.phase._tag} after ${next.waitMs}`;
};

describe("the request", () => {
  it.each([
    ["200 with an id", answer(200, { request_id: "f" }), "poll after 0"],
    ["201 with an id", answer(201, { request_id: "f" }), "poll after 0"],
    ["200 without one", answer(200, { id: 1 }), "nonsense"],
    ["an id of 600 characters", answer(200, { request_id: "f".repeat(600) }), "nonsense"],
    ["429", answer(429), "submit after 1000"],
    ["429 that asks for 7 s", answer(429, {}, 7_000), "submit after 7000"],
    ["402", answer(402), "submit after 10000"],
    ["400", answer(400, { detail: "no" }), "rejected"],
    ["400 of a model that was unloaded", answer(400, { detail: "Model m not loaded (stale request)" }), "gone"],
    ["422", answer(422, { detail: [{ loc: ["body", "loss_fn"], msg: "wrong" }] }), "rejected"],
    ["401", answer(401), "unauthorised"],
    ["403", answer(403), "unauthorised"],
    ["404", answer(404), "gone"],
    ["409", answer(409), "conflict"],
    ["no connection", silence({ unsent: true }), "submit after 1000"],
  ])("is followed by what %s says", (_, what, expected) => {
    expect(shown(following(initialState, what))).toBe(expected);
  });

  it.each([500, 502, 503, 408])(
    "that may have been taken (%i) is not sent again where it would count twice",
    (status) => {
      expect(shown(following(initialState, answer(status), "unseen"))).toBe("uncertain");
      expect(shown(following(initialState, answer(status), "same"))).toBe("submit after 1000");
      expect(shown(following(initialState, answer(status), "freely"))).toBe("submit after 1000");
    },
  );

  it("without an answer is not sent again where it would count twice", () => {
    expect(shown(following(initialState, silence(), "unseen"))).toBe("uncertain");
    expect(shown(following(initialState, silence({ late: true }), "unseen"))).toBe("uncertain");
    expect(shown(following(initialState, silence(), "same"))).toBe("submit after 1000");
  });

  it("whose answer is the result is done by it", () => {
    expect(shown(following(initialState, answer(201, { session_id: "s" }), "freely", true))).toBe("done");
  });
});

describe("the question for the result", () => {
  it.each([
    ["a result", answer(200, { metrics: {} }), "done"],
    ["408", answer(408), "poll after 0"],
    ["try_again", answer(200, { type: "try_again", queue_state: "active" }), "poll after 0"],
    ["a failure of the user's", answer(200, { error: "bad loss", category: "user" }), "rejected"],
    ["a failure of the server's", answer(200, { error: "out of memory", category: "server" }), "failed"],
    ["410", answer(410), "uncertain"],
    ["429", answer(429), "poll after 1000"],
    ["500", answer(500), "poll after 1000"],
    ["402", answer(402), "poll after 10000"],
    ["404", answer(404, { detail: "Future not found" }), "gone"],
    ["403", answer(403), "unauthorised"],
    ["409", answer(409), "conflict"],
    ["a broken connection", silence(), "poll after 1000"],
    ["nobody in time", silence({ late: true }), "poll after 0"],
  ])("is followed by what %s says", (_, what, expected) => {
    expect(shown(following(polling, what))).toBe(expected);
  });

  it("that is refused at once is not asked in a tight loop", () => {
    const next = nextAction(polling, answer(408), rules("unseen"), at(0, 10));
    expect(shown(next)).toBe("poll after 990");
  });

  it("asks again three times where it is called bad, and then believes it", () => {
    let state = polling;
    for (let i = 0; i < 3; i++) {
      const next = following(state, answer(400, { detail: "rank 99 is too high" }));
      if (next._tag !== "ask") throw new Error(shown(next));
      state = next.state;
    }
    const last = following(state, answer(400, { detail: "rank 99 is too high" }));
    expect(last).toMatchObject({
      _tag: "failed",
      failure: { reason: "rejected", message: "status 400: rank 99 is too high" },
    });
  });

  it.each([answer(410), answer(200, { error: "lost a worker", category: "unknown" })])(
    "leads to the request again where that counts nothing twice, three times at most",
    (what) => {
      let state = polling;
      for (let i = 0; i < 3; i++) {
        const next = nextAction(state, what, rules("freely"), at(1_000));
        if (next._tag !== "ask") throw new Error(shown(next));
        expect(next.state.phase._tag).toBe("submit");
        state = { ...next.state, phase: { _tag: "poll", id: "g" } };
      }
      expect(shown(nextAction(state, what, rules("freely"), at(1_000)))).toBe("failed");
    },
  );

  it("tells what a paused queue waits for, and does not count it as an outage", () => {
    let state = polling;
    for (let now = 0; now < 600_000; now += 50_000) {
      const next = nextAction(
        state,
        answer(200, { type: "try_again", queue_state: "paused_capacity" }),
        rules("unseen"),
        at(now),
      );
      if (next._tag !== "ask") throw new Error(shown(next));
      expect(next.state.trouble).toMatchObject({ since: instant(0), why: "it waits for capacity" });
      state = next.state;
    }
  });
});

describe("trouble", () => {
  it("is waited out for longer and longer, and given up after the outage", () => {
    let state = initialState;
    let now = 0;
    const waits: number[] = [];
    for (;;) {
      const next = nextAction(state, answer(503), rules("freely"), at(now));
      if (next._tag === "failed") {
        expect(next.failure).toMatchObject({ reason: "outage" });
        break;
      }
      if (next._tag === "done") throw new Error("done");
      expect(next.state.trouble).toMatchObject({ since: instant(0), attempt: waits.length + 1 });
      waits.push(next.waitMs);
      now += next.waitMs;
      state = next.state;
    }
    expect(waits.slice(0, 5)).toEqual([1_000, 2_000, 4_000, 8_000, 16_000]);
    expect(now).toBe(60_000);
  });

  it("is over with the first answer that is none", () => {
    const next = following({ ...polling, trouble: { since: instant(0), attempt: 3, why: "" } }, answer(408));
    expect(next).toMatchObject({ state: { trouble: null } });
  });
});
