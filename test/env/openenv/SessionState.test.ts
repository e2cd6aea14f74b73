/** The server's sessions as a pure state machine: what a request changes, and what a refused one does not. */
import { Effect } from "effect";
import { describe, expect, it } from "vitest";
import * as SessionState from "../../../src/env/openenv/SessionState.ts";
import { splitActions, trace } from "../../../src/env/validate/trace.ts";
import { instanceOf, noiseOf } from "../contract/players.ts";
import { preset } from "../contract/presets.ts";

const lake = preset("FrozenLake", { success_rate: 0.5 });
const host: SessionState.ServedEnvironment = { environment: lake, maxSteps: 100 };
const never = (): number => expect.unreachable("a seed was asked for");

const opened = (data: object): SessionState.SessionState => SessionState.reset(host, null, data, never).session;
const payload = ({ reply }: SessionState.SessionChange) => {
  if (reply._tag === "Refused") throw new Error(reply.message);
  return reply.payload;
};

describe("a session of the server", () => {
  it("draws the instance from the stream it is given", () => {
    const { key } = instanceOf(77);
    const given = payload(SessionState.reset(host, null, { seed: 1, instance: key }, never));
    expect(given.observation.text).toBe(lake.render(lake.reset(instanceOf(77), "train")));
  });

  it("draws the noise from the stream it is given", () => {
    const session = opened({ seed: 4 });
    const state = lake.reset(instanceOf(4), "train");
    for (const at of [0, 1, 2, 3, 4, 5]) {
      const noise = noiseOf(9, 1, at);
      const here = lake.step(state, "Up", noiseOf(9, 1, at));
      const there = payload(
        SessionState.step(host, session, { action: "Up", metadata: { noise: noise.key, more: 1 } }),
      );
      expect(there.observation.text).toBe(lake.render(here.state));
    }
  });

  it("plays from a bare seed what a trace plays", () => {
    const actions = splitActions("Up || Left || Down || Right || Up || Left");
    const lines = Effect.runSync(trace(lake, 12, actions));
    let session = opened({ seed: 12 });
    for (const line of lines.slice(1)) {
      const change = SessionState.step(host, session, { action: actions[line.t - 1] });
      session = change.session;
      expect(payload(change)).toMatchObject({
        observation: { text: line.observation, info: line.info },
        reward: line.reward,
      });
    }
  });

  it("asks for a seed only where none is given", () => {
    expect(payload(SessionState.reset(host, null, {}, () => 31)).metadata).toMatchObject({ seed: 31 });
  });

  it("is not changed by what it refuses", () => {
    const session = opened({ seed: 4 });
    for (const action of [{}, { action: 1 }, { action: "sideways" }, { action: "Up", metadata: { noise: 3 } }]) {
      const change = SessionState.step(host, session, action);
      expect(change.session).toBe(session);
      expect(change.reply).toMatchObject({ _tag: "Refused", code: "VALIDATION_ERROR" });
    }
  });

  it("names the legal actions where one is not", () => {
    const { reply } = SessionState.step(host, opened({ seed: 4 }), { action: "sideways" });
    expect(reply).toMatchObject({ errors: [{ loc: ["action"], ctx: { expected: ["Left", "Down", "Right", "Up"] } }] });
  });

  it("says what an environment throws, and goes on", () => {
    const broken: SessionState.ServedEnvironment = {
      ...host,
      environment: { ...lake, step: () => expect.unreachable("the ice broke") },
    };
    const session = opened({ seed: 4 });
    const change = SessionState.step(broken, session, { action: "Up" });
    expect(change.session).toBe(session);
    expect(change.reply).toMatchObject({ code: "EXECUTION_ERROR", message: expect.stringContaining("the ice broke") });
  });
});
