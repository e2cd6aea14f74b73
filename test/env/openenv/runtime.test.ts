/** Remote environments under the runtime a rollout uses: the same answers as the environment here, and nothing held in the end. */
import { Effect } from "effect";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import type { AnyEnvironment } from "../../../src/env/contract/BoundEnvironment.ts";
import { Environments, type StepRequest, type View } from "../../../src/env/contract/Environments.ts";
import * as Sessions from "../../../src/env/openenv/Sessions.ts";
import { layerInline } from "../../../src/env/pool/StepPool.ts";
import { preset } from "../contract/presets.ts";
import { type Running, remote, running } from "./serving.ts";

const instance = { seed: 10_000, purpose: "instance", counters: [] } as const;
const local = preset("CoordSokoban");

let server: Running;
beforeEach(async () => {
  server = await running(local);
});
afterEach(() => server.close());

const bound = (): ReadonlyMap<string, AnyEnvironment> =>
  new Map<string, AnyEnvironment>([
    ["Here", local],
    ["There", remote(server.url)],
  ]);

const seen = ({ state: _, ...view }: View) => view;

const request = (tag: string, state: unknown, turn: number, ...actions: readonly string[]): StepRequest => ({
  tag,
  state,
  actions,
  noise: { seed: 1, purpose: "noise", counters: [0, 0, turn] },
});

/** A group of two that play turns of several actions, as a rollout does. */
const group = (tag: string) =>
  Effect.gen(function* () {
    const environments = yield* Environments;
    const start = yield* environments.reset({ tag, instance, split: "train" });
    const member = (first: string) =>
      Effect.gen(function* () {
        const one = yield* environments.step(request(tag, start.state, 1, first, "Up"));
        const two = yield* environments.step(request(tag, one.view.state, 2, "Left", "Down", "Left"));
        return [one, two].map((result) => ({ ...result, view: seen(result.view) }));
      });
    const members = yield* Effect.all([member("Left"), member("Right")], { concurrency: "unbounded" });
    return { start: seen(start), members };
  });

describe("under the runtime of a rollout", () => {
  it("a group there is what it is here, and its sessions are given back when the run ends", async () => {
    const [here, there] = await Effect.runPromise(
      Effect.all([group("Here"), group("There")]).pipe(Effect.provide(layerInline(bound()))),
    );
    expect(there).toEqual(here);
    expect(Sessions.openCount()).toBe(0);
    expect(server.sessions()).toBe(0);
  });

  it("a server that goes away costs the episode, in a sentence", async () => {
    const failure = await Effect.runPromise(
      Effect.gen(function* () {
        const environments = yield* Environments;
        const { state } = yield* environments.reset({ tag: "There", instance, split: "train" });
        const { view } = yield* environments.step(request("There", state, 1, "Up"));
        yield* Effect.promise(() => server.close());
        return yield* Effect.flip(environments.step(request("There", view.state, 2, "Up")));
      }).pipe(Effect.provide(layerInline(bound()))),
    );
    expect(failure).toMatchObject({
      _tag: "StepFailure",
      reason: "step_error",
      message: expect.stringContaining("closed the session"),
    });
    expect(Sessions.openCount()).toBe(0);
  });
});
