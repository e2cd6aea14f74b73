/** The plan command and the refusal of a run that cannot fit. */
import { describe, expect, it } from "vitest";
import { lowestLimit } from "../../pipelines/addressSpace.ts";
import { exceeds } from "../../pipelines/plan.ts";
import { inBytes, planLines, refusalLines } from "../../pipelines/planLines.ts";
import type { Plan } from "../../src/tools/planning/Plan.ts";
import { millrace } from "./process.ts";

const GiB = 2 ** 30;
const limit = { source: "this machine", bytes: 2 * GiB, resource: "memory" } as const;

const smallPlan: Plan = {
  pipeline: "train",
  items: [
    { owner: "learner", what: "policy: weights", bytes: GiB, during: "always" },
    { owner: "learner", what: "activations", bytes: 2 * GiB, during: "update" },
    { owner: "generator 1", what: "keys and values", bytes: 5 * 2 ** 20, during: "always" },
  ],
  device: [],
  peak: 3 * GiB + 5 * 2 ** 20,
  speed: null,
  savings: [{ key: "actor.micro_batch_tokens", from: "1024", to: "512", bytes: GiB }],
};

describe("the lines of a plan", () => {
  it("are a table of threads, the peak, and what to turn down", () => {
    expect(planLines(smallPlan, limit, 100)).toEqual([
      "THREAD       WHAT IT HOLDS     MEMORY  WHEN",
      "learner                       3.0 GiB",
      "             activations      2.0 GiB  in updates",
      "             policy: weights  1.0 GiB",
      "generator 1                   5.0 MiB",
      "             keys and values  5.0 MiB",
      "",
      "At most 3.0 GiB at one time, 150 % of the 2.0 GiB that this machine allows.",
      "Speed: not measured (--no-probe).",
      "",
      "To turn down, one at a time:",
      "  actor.micro_batch_tokens=512  1.0 GiB  less than with 1024",
    ]);
  });

  it("say what is on a device beside it", () => {
    const device = [{ owner: "learner", what: "policy: weights", bytes: GiB, during: "always" }] as const;
    const lines = planLines({ ...smallPlan, device }, limit, 100);
    expect(lines.slice(7, 15)).toEqual([
      "At most 3.0 GiB at one time, 150 % of the 2.0 GiB that this machine allows.",
      "",
      "On webgpu beside it; the values of its passes are there too, and counted above instead:",
      "THREAD   WHAT IT HOLDS     MEMORY  WHEN",
      "learner                   1.0 GiB",
      "         policy: weights  1.0 GiB",
      "",
      "Speed: not measured (--no-probe).",
    ]);
  });

  it("say how fast the run is expected to be", () => {
    const lines = planLines({ ...smallPlan, speed: { decode: 1234.5, bound: "memory", update: 6.78 } }, null, 100);
    expect(lines).toContain("At most 3.0 GiB at one time; this system names no limit.");
    expect(lines).toContain("Expected: 1,235 sampled tokens a second with every slot in use (bound by memory),");
    expect(lines).toContain("          6.8 tokens a second through an update.");
  });

  it("are the message of a refused run, the need and the limit first", () => {
    expect(refusalLines(smallPlan, limit, 100)[0]).toBe(
      "memory: this machine allows 2.0 GiB; this run is expected to take 3.0 GiB; run.memory_check=off runs it anyway",
    );
    expect(refusalLines(smallPlan, limit, 100).join("\n")).toContain("actor.micro_batch_tokens=512");
  });

  it("write sizes in their unit", () => {
    expect([5e5, 2e7, 3e9, 2e11].map(inBytes)).toEqual(["0.5 MiB", "19 MiB", "2.8 GiB", "186 GiB"]);
  });
});

describe("a limit", () => {
  it("is the lowest of memory, and exceeded only beyond what a prediction may be off", () => {
    const other = { source: "ulimit -v", bytes: 1, resource: "address space" } as const;
    expect(lowestLimit([other, limit, { ...limit, bytes: GiB }])).toEqual({ ...limit, bytes: GiB });
    expect(lowestLimit([other])).toBeNull();
    expect([1, 1.09, 1.11].map((share) => exceeds({ peak: share * limit.bytes }, limit))).toEqual([false, false, true]);
    expect(exceeds({ peak: 2 ** 60 }, null)).toBe(false);
  });
});

describe("millrace plan", () => {
  it("prints the plan as JSON and starts nothing", () => {
    const { status, stderr, stdout } = millrace(["plan", "--config-name", "quickstart", "--json", "--no-probe"]);
    expect({ status, stderr }).toEqual({ status: 0, stderr: "" });
    const { fits, items, peak, speed } = JSON.parse(stdout);
    expect({ fits, speed }).toEqual({ fits: true, speed: null });
    expect(peak).toBeGreaterThan(2 ** 28);
    expect(items).toContainEqual(expect.objectContaining({ owner: "generator 1", what: "keys and values" }));
  });

  it("ends with 2 where the run cannot fit, and so does the run", () => {
    const huge = [
      "generation.slots=65536",
      "model.generator_threads=64",
      "es_manager.train.env_groups=65536",
      "es_manager.train.n_groups=[65536]",
    ];
    const { status, stderr } = millrace(["plan", "--config-name", "quickstart", "--no-probe", ...huge]);
    expect(stderr).toMatch(
      /^memory: .* allows .*; this run is expected to take .*; run\.memory_check=off runs it anyway\n$/,
    );
    expect(status).toBe(2);
    const run = millrace(["train", "--config-name", "quickstart", ...huge]);
    expect(run.status).toBe(2);
    expect(run.stderr).toMatch(/^memory: .*To turn down, one at a time:/s);
    expect(run.stderr.split("\n")[0]).toBe(stderr.trim());
  });

  it("plans behaviour cloning by what its check says", () => {
    const huge = ["actor.micro_batch_tokens=1048576", "sft.batch_size=65536", "sft.architecture.hidden_size=512"];
    const words = ["--config-name", "sft_nano", ...huge];
    const { status, stderr } = millrace(["plan", "--sft", "--no-probe", ...words]);
    expect({ status, stderr }).toEqual({
      status: 2,
      stderr: expect.stringMatching(/^memory: .* is expected to take /),
    });
    expect(millrace(["sft", ...words]).stderr.split("\n")[0]).toBe(stderr.trim());
  });

  it("names a model folder that is missing", () => {
    const { status, stderr } = millrace(["plan", "--config-name", "quickstart", "model.path=config/models/none"]);
    expect({ status, stderr }).toEqual({
      status: 2,
      stderr: expect.stringMatching(/^model\.path: "?config\/models\/none"?: no such folder/),
    });
  });
});
