import { Effect } from "effect";
import { describe, expect, it } from "vitest";
import { infos } from "../../pipelines/commands/all.ts";
import { help } from "../../pipelines/help.ts";

const lines = (...topic: readonly string[]) => Effect.runSync(help(topic));
const refused = (...topic: readonly string[]) => Effect.runSync(Effect.flip(help(topic))).message;

describe("millrace help", () => {
  it("lists every command", () => {
    const text = lines().join("\n");
    expect([...infos.values()].filter(({ usage }) => !text.includes(usage))).toEqual([]);
  });

  it("lists a command's flags", () => {
    expect(lines("train").some((line) => /^ {2}--resume RUN /.test(line))).toBe(true);
  });

  it("lists the keys of a section with their defaults", () => {
    const keys = lines("config", "algorithm").map((line) => line.split(/ +/).slice(0, 2));
    expect(keys).toContainEqual(["algorithm.adv_estimator", "gae"]);
    expect(keys.slice(1).every(([key]) => key?.startsWith("algorithm."))).toBe(true);
  });

  it("takes a section of a run file for a topic", () => {
    expect(lines("filter")).toEqual(lines("config", "filter"));
  });

  it.each([60, 80, 140])("has no line wider than a terminal of %j columns, but for words that are longer", (width) => {
    const topics = [[], ["config"], ...[...infos.keys()].map((name) => [name])];
    const wide = topics.flatMap((topic) => Effect.runSync(help(topic, width))).filter((line) => line.length > width);
    expect(wide).toEqual([]);
  });

  it("lists the defaults of a preset's keys", () => {
    const keys = lines("config", "custom_envs").map((line) => line.split(/ +/).slice(0, 2));
    expect(keys).toContainEqual(["custom_envs.TAG.max_actions_per_traj", "10"]);
    expect(keys).toContainEqual(["custom_envs.TAG.memory", "simple"]);
  });

  it("names the nearest topic or section", () => {
    expect(refused("trian")).toContain("nearest: train");
    expect(refused("config", "algoritm")).toContain("nearest: algorithm");
  });
});
