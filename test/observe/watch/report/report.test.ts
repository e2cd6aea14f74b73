/** A report of a run's folder: what it holds, its bounds, and what it keeps to itself. */
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Effect, Result } from "effect";
import { afterAll, describe, expect, it } from "vitest";
import type { ReportData } from "../../../../src/observe/watch/page/report/ReportData.ts";
import { gatherRun } from "../../../../src/observe/watch/report/gatherRun.ts";
import { type Redactor, redactorFor } from "../../../../src/observe/watch/report/Redactor.ts";
import { writeReport } from "../../../../src/observe/watch/report/writeReport.ts";
import { noAttribution } from "../../../../src/observe/watch/store/RunSnapshot.ts";
import { RunStore } from "../../../../src/observe/watch/store/RunStore.ts";
import { episodeRecord, turnRecord } from "../../../build/records.ts";
import { writeRun } from "../syntheticRun.ts";

const home = mkdtempSync(join(tmpdir(), "millrace-report-"));
afterAll(() => rmSync(home, { recursive: true, force: true }));

const folder = join(home, "made", "20270115-080000");
writeRun(folder, { steps: 400, groups: 4, groupSize: 3 });
const line = readFileSync(join(folder, "metrics.jsonl"), "utf8").replaceAll('"made/m0"', '"train/success"');
writeFileSync(join(folder, "metrics.jsonl"), line);
const store = () => new RunStore({ id: "made/20270115-080000", folder, attribute: noAttribution });
const open = redactorFor({ env: {}, folders: [] });

describe("what is gathered of a run", () => {
  it("is its card, curves of the main metrics, windows, the last line and chosen groups with their siblings", async () => {
    const run = await gatherRun(store(), open);
    expect(run.card).toMatchObject({ id: "made/20270115-080000", state: "completed", step: 400, controllable: false });
    expect(run.curves.series.map(({ name }) => name)).toEqual(["train/success"]);
    expect(run.curves.steps.length).toBeLessThanOrEqual(300);
    expect(run.curves.steps.at(-1)).toBe(400);
    expect(run.windows.length).toBeLessThanOrEqual(200);
    expect(run.windows.at(-1)?.step).toBe(400);
    expect(run.line?.stages.map(({ name }) => name)).toEqual(["rollout", "learn"]);
    expect(run.marks.length).toBeGreaterThan(10);
    const [group] = run.groups;
    expect(group?.why).toContain("last group trained on");
    expect(group?.records.map(({ member, step }) => [member, step]).toSorted()).toEqual([
      [0, 400],
      [1, 400],
      [2, 400],
    ]);
    expect(run.counts).toEqual({ episodes: 300, marksLeftOut: 0, groupsLeftOut: 0 });
  });

  it("draws how many episodes failed or were cut by the context only where some were", async () => {
    const failing = join(home, "failing", "20270115-080000");
    writeRun(failing, { steps: 8, groupSize: 2 });
    const file = join(failing, "metrics.jsonl");
    const shares = '"train/ended/failed":0.5,"train/ended/context":0,';
    writeFileSync(file, readFileSync(file, "utf8").replaceAll('{"step"', `{${shares}"step"`));
    const run = await gatherRun(new RunStore({ id: "failing/1", folder: failing, attribute: noAttribution }), open);
    expect(run.curves.series.map(({ name }) => name)).toEqual(["train/ended/failed"]);
  });

  it("has no group with a text that gives something away", async () => {
    const telling = redactorFor({ env: { SOME_TOKEN: "state of 1596" }, folders: [] });
    const run = await gatherRun(store(), telling);
    expect(run.groups.flatMap(({ records }) => records).some(({ step }) => step === 400)).toBe(false);
    expect(run.counts.groupsLeftOut).toBe(1);
    expect(JSON.stringify(run)).not.toContain("state of 1596");
  });
});

describe("an agent's episode", () => {
  it.each([
    ["a message", { added: [{ role: "tool", call: "", text: "the word is sesame-open" }] }],
    ["a value of a tool call", { calls: [{ id: "", name: "say", arguments: { words: ["sesame-open"] } }] }],
    ["a name in a tool call", { calls: [{ id: "", name: "say", arguments: { "sesame-open": 1 } }] }],
  ] as const)("is left out of a report where %s gives something away", async (_, changes) => {
    const path = mkdtempSync(join(home, "agent-"));
    writeRun(path, { steps: 4, episodesEvery: 4, groupSize: 1 });
    const call = { number: 0, parent: null, fork: null, added: [], calls: [], problems: [], ...changes };
    const record = JSON.stringify(episodeRecord({ step: 4, turns: [turnRecord(["a"], { call })] }));
    writeFileSync(join(path, "trajectories.jsonl"), `${record}\n`);
    rmSync(join(path, "trajectories.index.jsonl"));
    const groupsWith = async (redactor: Redactor) =>
      (await gatherRun(new RunStore({ id: "agent/1", folder: path, attribute: noAttribution }), redactor)).groups
        .length;
    expect(await groupsWith(open)).toBe(1);
    expect(await groupsWith(redactorFor({ env: { SOME_TOKEN: "sesame-open" }, folders: [] }))).toBe(0);
  });
});

const dataOf = (path: string): ReportData => {
  const [, json = ""] =
    /<script type="application\/json" id="data">(.*)<\/script>/.exec(readFileSync(path, "utf8")) ?? [];
  return JSON.parse(json);
};

describe("a damaged record", () => {
  it("is left out, and the rest of the run is told", async () => {
    const damaged = join(home, "damaged", "20270115-080000");
    writeRun(damaged, { steps: 8, episodesEvery: 8, groupSize: 2 });
    const file = join(damaged, "trajectories.jsonl");
    writeFileSync(file, readFileSync(file, "utf8").replace('"mu":[', '"mx":['));
    const run = await gatherRun(new RunStore({ id: "damaged/1", folder: damaged, attribute: noAttribution }), open);
    expect(run.card.step).toBe(8);
    expect(run.groups.flatMap(({ records }) => records.map(({ member }) => member))).not.toContain(0);
  });
});

describe("the report", () => {
  it("is one file of the runs, each once, without the places of this machine", async () => {
    const other = join(home, "made", "20270115-090000");
    writeRun(other, { steps: 4 });
    writeFileSync(join(other, "config.yaml"), `model:\n  path: ${home}/models/nano\nremote:\n  token: tell-nobody\n`);
    const output = join(home, "report.html");
    const written = await Effect.runPromise(writeReport({ folders: [folder, other, folder], output }));
    expect(written.path).toBe(output);
    expect(readFileSync(output).length).toBe(written.bytes);
    const { metrics, runs } = dataOf(output);
    expect(runs.map(({ card }) => card.id)).toEqual(["made/20270115-080000", "made/20270115-090000"]);
    expect(metrics.map(({ name, unit }) => [name, unit])).toEqual([["train/success", "share"]]);
    expect(runs[1]?.config).toBe("model:\n  path: …/nano\nremote:\n  token: [hidden]\n");
    expect(readFileSync(output, "utf8").includes(home)).toBe(false);
  });

  it("is bad input where it cannot be written", async () => {
    const result = await Effect.runPromise(
      Effect.result(writeReport({ folders: [folder], output: "/proc/report.html" })),
    );
    expect(Result.isFailure(result) && result.failure.message).toMatch(/^report: cannot write \/proc\/report.html: /);
  });
});
