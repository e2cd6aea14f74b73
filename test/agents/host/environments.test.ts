import { describe, expect, it } from "vitest";
import { environmentLoader, playEnvironment } from "../../../src/agents/host/environments.ts";
import { gamesUrl } from "../../../src/env/games/registry.ts";
import { resolved } from "../../config/configs.ts";
import { order } from "./orders.ts";

const presets = resolved("").config.custom_envs;
const loader = () => environmentLoader({ path: "", registry: gamesUrl.href, presets });
const environmentOf = async (tag: string, more = {}) => playEnvironment(tag, await loader()(tag), order(more));

describe("an environment of an agent", () => {
  it("is the instance of its seed, whichever member plays it", async () => {
    const [one, other] = [await environmentOf("FrozenLake"), await environmentOf("FrozenLake", { member: 5 })];
    expect(one.observation).toEqual(other.observation);
    const another = await environmentOf("FrozenLake", { seed: 8 });
    expect(another.observation).not.toEqual(one.observation);
  });

  it("has one episode, and earns nothing behind its end", async () => {
    const bandit = await environmentOf("Bandit");
    const [action = ""] = bandit.observation.actions ?? [];
    expect(await bandit.step([action, action])).toMatchObject({ done: true, executed: 1 });
    await expect(bandit.step([action])).rejects.toThrow("environment: the episode has ended");
  });

  it("is refused for a tag that is no preset", async () => {
    await expect(environmentOf("Nowhere")).rejects.toThrow("environment: Nowhere is no preset of custom_envs");
  });
});
