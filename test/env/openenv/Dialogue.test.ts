/** The server's sessions as a pure state machine: what a request changes, and what a refused one does not. */
import { Effect } from "effect";
import { describe, expect, it } from "vitest";
import * as Dialogue from "../../../src/env/openenv/Dialogue.ts";
import { splitActions, trace } from "../../../src/env/validate/trace.ts";
import { instanceOf, noiseOf } from "../contract/players.ts";
import { preset } from "../contract/presets.ts";

const lake = preset("FrozenLake", { success_rate: 0.5 });
const host: Dialogue.Host = { environment: lake, maxSteps: 100 };
const never = (): number => expect.unreachable("a seed was asked for");

const opened = (data: object): Dialogue.Dialogue => Dialogue.reset(host, null, data, never).dialogue;
const payload = ({ reply }: Dialogue.Turn) => {
  if (reply._tag === "Refused") throw new Error(reply.message);
  return reply.payload;
};

describe("a dialogue", () => {
  it("draws the instance from the stream it is given", () => {
    const { key } = instanceOf(77);
    const given = payload(Dialogue.reset(host, null, { seed: 1, instance: key }, never));
    expect(given.observation.text).toBe(lake.render(lake.reset(instanceOf(77), "train")));
  });

  it("draws the noise from the stream it is given", () => {
    const dialogue = opened({ seed: 4 });
    const state = lake.reset(instanceOf(4), "train");
    for (const at of [0, 1, 2, 3, 4, 5]) {
      const noise = noiseOf(9, 1, at);
      const here = lake.step(state, "Up", noiseOf(9, 1, at));
      const there = payload(Dialogue.step(host, dialogue, { action: "Up", metadata: { noise: noise.key, more: 1 } }));
      expect(there.observation.text).toBe(lake.render(here.state));
    }
  });

  it("plays from a bare seed what a trace plays", () => {
    const actions = splitActions("Up || Left || Down || Right || Up || Left");
    const lines = Effect.runSync(trace(lake, 12, actions));
    let dialogue = opened({ seed: 12 });
    for (const line of lines.slice(1)) {
      const turn = Dialogue.step(host, dialogue, { action: actions[line.t - 1] });
      dialogue = turn.dialogue;
      expect(payload(turn)).toMatchObject({
        observation: { text: line.observation, info: line.info },
        reward: line.reward,
      });
    }
  });

  it("asks for a seed only where none is given", () => {
    expect(payload(Dialogue.reset(host, null, {}, () => 31)).metadata).toMatchObject({ seed: 31 });
  });

  it("is not changed by what it refuses", () => {
    const dialogue = opened({ seed: 4 });
    for (const action of [{}, { action: 1 }, { action: "sideways" }, { action: "Up", metadata: { noise: 3 } }]) {
      const turn = Dialogue.step(host, dialogue, action);
      expect(turn.dialogue).toBe(dialogue);
      expect(turn.reply).toMatchObject({ _tag: "Refused", code: "VALIDATION_ERROR" });
    }
  });

  it("names the legal actions where one is not", () => {
    const { reply } = Dialogue.step(host, opened({ seed: 4 }), { action: "sideways" });
    expect(reply).toMatchObject({ errors: [{ loc: ["action"], ctx: { expected: ["Left", "Down", "Right", "Up"] } }] });
  });

  it("says what an environment throws, and goes on", () => {
    const broken: Dialogue.Host = {
      ...host,
      environment: { ...lake, step: () => expect.unreachable("the ice broke") },
    };
    const dialogue = opened({ seed: 4 });
    const turn = Dialogue.step(broken, dialogue, { action: "Up" });
    expect(turn.dialogue).toBe(dialogue);
    expect(turn.reply).toMatchObject({ code: "EXECUTION_ERROR", message: expect.stringContaining("the ice broke") });
  });
});
