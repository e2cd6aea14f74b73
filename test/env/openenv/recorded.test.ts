/** openenv-core's own messages, recorded: our client plays what its server said, our server answers what its client sent. */
import { afterEach, describe, expect, it } from "vitest";
import { WebSocket } from "ws";
import type { BoundAsyncEnvironment } from "../../../src/env/contract/BoundEnvironment.ts";
import { instanceOf, noiseOf } from "../contract/players.ts";
import { preset } from "../contract/presets.ts";
import * as recorded from "./recorded.ts";
import { patient, rejection, remote, running } from "./serving.ts";
import { standIn } from "./standIn.ts";

const closing: { readonly close: () => Promise<void> }[] = [];
afterEach(async () => {
  for (const server of closing.splice(0)) await server.close();
});

interface Said {
  readonly type: string;
  readonly data: Readonly<Record<string, unknown>>;
}
/** A request without what every client may add to it. */
const core = ({ data: { instance: _i, metadata: _m, split: _s, ...data }, type }: Said): string =>
  JSON.stringify({ type, data });

/** A server that answers in each session the next recorded request that is like the one it hears; and what it heard. */
const server = async (edit: (answer: string) => string = (answer) => answer) => {
  const heard: Said[] = [];
  const left = new Map<number, { readonly sent: Said; readonly answer: string }[]>();
  const endpoint = await standIn({
    accept: (_socket, nth) => left.set(nth, [...recorded.session]),
    hear: (socket, message, nth) => {
      heard.push(message);
      const session = left.get(nth) ?? [];
      const at = session.findIndex(({ sent }) => core(sent) === core(message));
      for (const { answer } of session.splice(at, 1)) socket.send(edit(answer));
    },
    http: (_request, _body, response) => response.end(recorded.health),
  });
  closing.push(endpoint);
  return { heard, url: endpoint.url };
};

const walk = async (environment: BoundAsyncEnvironment, actions: readonly string[]) => {
  let state = await environment.reset(instanceOf(1), "train", patient());
  const seen = [environment.render(state)];
  const transitions = [];
  for (const [at, action] of actions.entries()) {
    const transition = await environment.step(state, action, noiseOf(1, 0, at), patient());
    transitions.push(transition);
    state = transition.state;
    seen.push(environment.render(state));
  }
  await environment.release?.(state);
  return { seen, transitions };
};

const way = ["right", "nan", "right", "right", "right"];

describe("a server of openenv-core", () => {
  it("is healthy", async () => {
    const { url } = await server();
    expect(await remote(url).lacks?.()).toEqual([]);
  });

  it.for([
    ["as recorded", (answer: string) => answer],
    [
      "with the metadata later versions add",
      (answer: string) => answer.replace(/\}\}$/, ',"metadata":{"by":"line"}}}'),
    ],
  ] as const)("is played to the end, %s", async ([, edit]) => {
    const { url } = await server(edit);
    const { seen, transitions } = await walk(remote(url, { action_field: "move" }), way);
    expect(seen).toEqual([-1, 0, 0, 1, 2, 3].map((at) => `You stand at ${at}; go to 3.`));
    expect(transitions.map(({ reward }) => reward)).toEqual([-0.1, 0, -0.1, -0.1, 1]);
    expect(transitions.map(({ terminated }) => terminated)).toEqual([false, false, false, false, true]);
    expect(transitions.at(-1)).toMatchObject({ truncated: false, info: { success: true } });
  });

  it("is told what it was told when it was recorded", async () => {
    const { heard, url } = await server();
    await walk(remote(url, { action_field: "move" }), way);
    const [reset, ...steps] = recorded.session.map(({ sent }) => sent);
    expect(heard).toEqual([reset, reset, ...steps.slice(0, way.length)]);
  });

  it("lists its legal actions", async () => {
    const { url } = await server();
    const environment = remote(url, { legal_actions_field: "legal" });
    const state = await environment.reset(instanceOf(1), "train", patient());
    expect(environment.actions(state)).toEqual(["left", "right"]);
  });

  it("that does not take an action goes on", async () => {
    const { url } = await server();
    const { transitions } = await walk(remote(url, { action_form: "json" }), ['{"go":"right"}', '{"move":"right"}']);
    expect(transitions.map(({ info }) => info.action_is_valid)).toEqual([false, true]);
  });

  it("whose environment raises costs the episode", async () => {
    const { url } = await server();
    expect(await rejection(walk(remote(url, { action_field: "move" }), ["boom"]))).toMatchObject({
      reason: "refused",
      message: expect.stringContaining("the floor gave way"),
    });
  });

  it("that is full is tried again", async () => {
    const endpoint = await standIn({
      accept: (socket, nth) => {
        if (nth > 0) return;
        socket.send(recorded.full);
        socket.close(1000);
      },
      hear: (socket) => socket.send(recorded.session[0].answer),
    });
    closing.push(endpoint);
    const environment = remote(endpoint.url, { retries: 1 });
    expect(environment.render(await environment.reset(instanceOf(1), "train", patient()))).toContain("You stand at -1");
  });
});

describe("a client of openenv-core", () => {
  /** Our server's answers to the recorded messages, and the code with which it closes. */
  const answers = async () => {
    const ours = await running(preset("CoordSokoban"));
    closing.push(ours);
    const socket = new WebSocket(ours.ws);
    const heard: Record<string, unknown>[] = [];
    socket.on("message", (data) => heard.push(JSON.parse(data.toString())));
    const closed = new Promise<number>((resolve) => socket.on("close", resolve));
    await new Promise((resolve) => socket.once("open", resolve));
    for (const message of recorded.client) socket.send(message);
    return { code: await closed, heard };
  };

  it("gets one answer to each message, in order, and none to its goodbye", async () => {
    const { code, heard } = await answers();
    expect(heard.map(({ type }) => type)).toEqual([
      "observation",
      "observation",
      "observation",
      "observation",
      "state",
    ]);
    expect(code).toBe(1000);
  });

  it("finds observation, reward and done where it looks for them", async () => {
    const { heard } = await answers();
    const local = preset("CoordSokoban");
    const text = local.render(local.reset(instanceOf(10_000), "train"));
    expect(heard[1]).toMatchObject({ data: { observation: { text }, reward: null, done: false } });
    expect(heard[3]).toMatchObject({ data: { observation: {}, reward: -0.1, done: false } });
    expect(heard[4]).toEqual({ type: "state", data: { episode_id: "e1", step_count: 2 } });
  });
});
