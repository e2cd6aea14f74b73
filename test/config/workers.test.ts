import { describe, expect, it } from "vitest";
import { workers } from "../../src/config/checks/workers.ts";
import type { Tree } from "../../src/config/Tree.ts";
import { configWith } from "../build/config.ts";

const url = "nats://broker:4222";
const problems = (tree: Tree) => workers(configWith(tree));
const refuses = (key: string, value: string) => expect(() => configWith({ pipeline: { workers: { [key]: value } } }));

describe("pipeline.workers", () => {
  it("is off by default, and then fits every run", () => {
    expect(configWith({}).pipeline.workers.url).toBe("");
    expect(problems({ pipeline: { mode: "lockstep" }, model: { learner: { engine: "tinker" } } })).toEqual([]);
    expect(problems({ pipeline: { mode: "sync", workers: { url } } })).toEqual([]);
  });

  it("does not go with lockstep, nor with a learner that is elsewhere", () => {
    expect(problems({ pipeline: { mode: "lockstep", workers: { url } } })[0]).toMatch(
      /^pipeline\.mode: lockstep.*sync$/,
    );
    const remote = { pipeline: { workers: { url } }, model: { learner: { engine: "tinker" } } };
    expect(problems(remote)[0]).toContain("model.learner.engine");
  });

  it("asks for the address under which workers find this machine, where it listens on all of them", () => {
    const everywhere = { url, listen: "0.0.0.0:4280" };
    expect(problems({ pipeline: { workers: everywhere } })[0]).toContain("pipeline.workers.files_url");
    expect(problems({ pipeline: { workers: { ...everywhere, files_url: "http://learner:4280" } } })).toEqual([]);
  });

  it("keeps secrets out of the run file", () => {
    refuses("url", "nats://me:secret@broker:4222").toThrow("without a name or password");
    refuses("token_env", "s3cret value").toThrow("environment variable");
    refuses("url", "http://broker:4222").toThrow("nats://host:4222");
  });
});
