import { Result } from "effect";
import { describe, expect, it } from "vitest";
import { workers } from "../../src/config/checks/workers.ts";
import { decode } from "../../src/config/decode.ts";
import { RunConfig } from "../../src/config/RunConfig.ts";
import type { Tree } from "../../src/config/Tree.ts";

const configOf = (tree: Tree) => Result.getOrThrow(decode(RunConfig, tree));
const url = "nats://broker:4222";
const problems = (tree: Tree) => workers(configOf(tree));
const refusal = (key: string, value: string): string => {
  const result = decode(RunConfig, { pipeline: { workers: { [key]: value } } });
  return Result.isFailure(result) ? result.failure.message : "";
};

describe("pipeline.workers", () => {
  it("is off by default, and then fits every run", () => {
    expect(configOf({}).pipeline.workers.url).toBe("");
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
    expect(refusal("url", "nats://me:secret@broker:4222")).toContain("without a name or password");
    expect(refusal("token_env", "s3cret value")).toContain("environment variable");
    expect(refusal("url", "http://broker:4222")).toContain("nats://host:4222");
  });
});
