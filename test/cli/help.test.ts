import { Effect } from "effect";
import { describe, expect, it } from "vitest";
import { infos } from "../../pipelines/commands/all.ts";
import { help } from "../../pipelines/help.ts";

const lines = (...topic: readonly string[]) => Effect.runPromise(help(topic));
const refused = async (...topic: readonly string[]) => (await Effect.runPromise(Effect.flip(help(topic)))).message;

describe("millrace help", () => {
  it("lists every command", async () => {
    const text = (await lines()).join("\n");
    expect([...infos.values()].filter(({ usage }) => !text.includes(usage))).toEqual([]);
  });

  it("lists a command's flags", async () => {
    expect((await lines("train")).some((line) => /^ {2}--resume RUN /.test(line))).toBe(true);
  });

  it("lists the keys of a section with their defaults", async () => {
    const keys = (await lines("config", "algorithm")).map((line) => line.split(/ +/).slice(0, 2));
    expect(keys).toContainEqual(["algorithm.adv_estimator", "gae"]);
    expect(keys.slice(1).every(([key]) => key?.startsWith("algorithm."))).toBe(true);
  });

  it("takes a section of a run file for a topic", async () => {
    expect(await lines("filter")).toEqual(await lines("config", "filter"));
  });

  it.each([60, 80, 140])(
    "has no line wider than a terminal of %j columns, but for words that are longer",
    async (width) => {
      const topics = [[], ["config"], ...[...infos.keys()].map((name) => [name])];
      const pages = await Promise.all(topics.map((topic) => Effect.runPromise(help(topic, width))));
      const wide = pages.flat().filter((line) => line.length > width);
      expect(wide).toEqual([]);
    },
  );

  it("lists the defaults of a preset's keys", async () => {
    const keys = (await lines("config", "custom_envs")).map((line) => line.split(/ +/).slice(0, 2));
    expect(keys).toContainEqual(["custom_envs.TAG.max_actions_per_traj", "10"]);
    expect(keys).toContainEqual(["custom_envs.TAG.memory", "simple"]);
  });

  it("names the nearest topic or section", async () => {
    expect(await refused("trian")).toContain("nearest: train");
    expect(await refused("config", "algoritm")).toContain("nearest: algorithm");
  });
});
