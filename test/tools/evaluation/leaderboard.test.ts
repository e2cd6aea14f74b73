import { describe, expect, it } from "vitest";
import { benchmarks, type LeaderboardEntry, leaderboard } from "../../../src/tools/evaluation/leaderboard.ts";
import { type Summary, summaryOf } from "../../../src/tools/evaluation/Summary.ts";
import { episode } from "./made.ts";

const entry = (name: string, wins: number, changes: Partial<Summary> = {}): LeaderboardEntry => {
  const episodes = Array.from({ length: 10 }, (_, seed) =>
    episode({ seed, outcome: { _tag: "Done", success: seed < wins } }),
  );
  const facts = {
    name,
    model: name,
    kind: "openai",
    temperature: 0,
    versions: { environment: "e1", template: "t1" },
    tags: ["FrozenLake"],
    template: "ragen",
    written: 0,
    planned: 10,
    failed: 0,
    stopped: null,
    requests: 20,
    retries: 0,
    seconds: 1,
    lost: 0,
    cost: 0.5,
  };
  return { summary: { ...summaryOf(episodes, facts), ...changes }, origin: "runs/x" };
};

describe("the leaderboard", () => {
  it("sorts by success", () => {
    const [table] = benchmarks([entry("low", 2), entry("high", 9), entry("middle", 5)]);
    expect(table?.map(({ summary }) => summary.name)).toEqual(["high", "middle", "low"]);
  });

  it("has a table for each environment and each template", () => {
    const other = { environment: "e2", template: "t1" };
    const texts = { environment: "e1", template: "t2" };
    const tables = benchmarks([
      entry("a", 1),
      entry("b", 1, { versions: other }),
      entry("c", 1, { versions: texts }),
      entry("d", 0),
    ]);
    expect(tables.map((table) => table.map(({ summary }) => summary.name))).toEqual([["a", "d"], ["c"], ["b"]]);
  });

  it("leaves out who has finished nothing", () => {
    expect(benchmarks([entry("a", 1), entry("none", 0, { finished: 0, success: null })]).flat()).toHaveLength(1);
  });

  it("names a checkpoint by the end of its path", () => {
    const model = "/home/me/secret/runs/lake/1/checkpoints/step-9";
    const html = leaderboard([entry("a", 1, { kind: "checkpoint", model })], "Title", 0);
    expect(html).toContain("1/checkpoints/step-9");
    expect(html).not.toContain("secret");
  });

  it("is one file that loads nothing", () => {
    const html = leaderboard([entry("a", 1)], "Title", 0);
    expect(html).toContain("default-src 'none'");
    expect(html).not.toMatch(/<script|<link|src=|url\(|https?:/);
  });

  it("is light or dark as the reader's system is", () => {
    expect(leaderboard([entry("a", 1)], "Title", 0)).toContain("color-scheme: light dark");
  });

  it("shows texts of the data as they are", () => {
    const html = leaderboard([entry('<img src="x">', 1)], "<b>", 0);
    expect(html).not.toContain("<img");
    expect(html).toContain("&lt;img src=&quot;x&quot;&gt;");
    expect(html).toContain("<title>&lt;b&gt;</title>");
  });

  it("says of a result that is not whole how much of it there is", () => {
    expect(leaderboard([entry("a", 1, { planned: 40 })], "Title", 0)).toContain("10 of 40");
  });
});
