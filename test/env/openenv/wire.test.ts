/** A pure environment shows over the wire what it shows here: whole episodes of every preset, over both transports. */
import { Result } from "effect";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { stream } from "../../../src/domain/Random.ts";
import type { BoundAsyncEnvironment, BoundEnvironment } from "../../../src/env/contract/BoundEnvironment.ts";
import { decodePreset } from "../../../src/env/games/registry.ts";
import * as Sessions from "../../../src/env/openenv/Sessions.ts";
import { instanceOf, noiseOf } from "../contract/players.ts";
import { presets, registry } from "../contract/presets.ts";
import { patient, type Running, remote, running } from "./serving.ts";

const mostActions = 12;

/** Free texts, which no environment has to accept. */
const words = ["anything", "1 + 2", "search[lamp]", "finish[yes]", "place 5 at row 2 col 3", ""] as const;

type Shows = Pick<BoundEnvironment, "render" | "compact" | "actions" | "contentKey">;

const shownBy = (environment: Shows, state: unknown) => ({
  text: environment.render(state),
  compact: environment.compact(state),
  actions: environment.actions(state),
  contentKey: environment.contentKey(state),
});

/** The presets whose environment is pure and can run here. */
const playable = async (): Promise<ReadonlyMap<string, BoundEnvironment>> => {
  const found = new Map<string, BoundEnvironment>();
  for (const [tag, preset] of Object.entries(presets)) {
    const environment = Result.getOrThrow(decodePreset(tag, preset, registry));
    if (environment.asynchronous || ((await environment.lacks?.()) ?? []).length > 0) continue;
    await environment.prepare?.();
    found.set(tag, environment);
  }
  return found;
};

/** The solver's way where there is one, else, and after it, random legal actions or words. */
const chosen = (environment: BoundEnvironment, start: unknown, seed: number) => {
  const plan = (seed === 0 && environment.solve?.(start)) || [];
  const choices = stream({ seed, purpose: "play", counters: [1] });
  return (state: unknown, at: number): string => {
    const legal = environment.actions(state);
    return plan[at] ?? choices.pick<string>(legal ?? words);
  };
};

/** One episode, played here and over the wire side by side; the number of its steps. */
const compare = async (local: BoundEnvironment, remote: BoundAsyncEnvironment, seed: number): Promise<number> => {
  const split = seed === 1 ? "val" : "train";
  let here = local.reset(instanceOf(seed), split);
  let there = await remote.reset(instanceOf(seed), split, patient());
  expect(shownBy(remote, there)).toEqual(shownBy(local, here));
  const act = chosen(local, here, seed);
  for (let at = 0; at < mostActions; at++) {
    const action = act(here, at);
    const mine = local.step(here, action, noiseOf(seed, 1, at));
    const theirs = await remote.step(there, action, noiseOf(seed, 1, at), patient());
    here = mine.state;
    there = structuredClone(theirs.state);
    expect({ ...theirs, state: shownBy(remote, there) }).toEqual({ ...mine, state: shownBy(local, here) });
    if (mine.terminated || mine.truncated) {
      await remote.release?.(there);
      return at + 1;
    }
  }
  await remote.release?.(there);
  return mostActions;
};

const environments = await playable();

describe("the presets compared", () => {
  it("are those of every environment that needs nothing but itself", () => {
    expect([...environments.keys()]).toEqual(
      expect.arrayContaining([
        "CoordSokoban",
        "LargerSokoban",
        "FrozenLake",
        "CoordFrozenLake",
        "Bandit",
        "BanditTest",
      ]),
    );
  });
});

describe.for([...environments])("%s over the wire", ([, environment]) => {
  let server: Running;
  beforeAll(async () => {
    server = await running(environment);
  });
  afterAll(() => server.close());

  it.for([
    ["ws", [0, 1, 10_000]],
    ["http", [0]],
  ] as const)("is what it is here (%s)", async ([transport, seeds]) => {
    let steps = 0;
    for (const seed of seeds) steps += await compare(environment, remote(server.url, { transport }), seed);
    expect(steps).toBeGreaterThanOrEqual(seeds.length);
    expect(Sessions.openCount()).toBe(0);
    expect(server.sessions()).toBe(0);
  });
});
