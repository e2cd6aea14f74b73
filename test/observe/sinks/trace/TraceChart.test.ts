import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { type OpenSpan, TraceChart } from "../../../../src/observe/sinks/trace/TraceChart.ts";
import { opening } from "../../../../src/observe/sinks/trace/Tracks.ts";
import { stepRecord } from "../../../build/records.ts";
import { assertProperty } from "../../../property.ts";
import { sample, stage } from "../fixtures.ts";
import { check, entriesOf, type TraceEntry } from "./checker.ts";

const textOf = (entries: readonly string[]): string => `[${[...opening, ...entries].join(",\n")}]`;
const parsed = (entries: readonly string[]): readonly TraceEntry[] => entriesOf(`[${entries.join(",")}]`);

const us = (micros: number): bigint => BigInt(Math.round(micros * 1000)) + 1_700_000_000_000_000_000n;
const attributes = (replyAttributes: Readonly<Record<string, unknown>>) => new Map(Object.entries(replyAttributes));

/** A span from beginning to end, microseconds. */
const span = (
  chart: TraceChart,
  name: string,
  [start, end]: readonly [number, number],
  replyAttributes: Readonly<Record<string, unknown>> = {},
): readonly string[] => chart.end(chart.begin(name, us(start)), us(end), attributes(replyAttributes), null);

const update = (chart: TraceChart, version: number, at: readonly [number, number]) =>
  span(chart, "update", at, { version });
const reply = (
  chart: TraceChart,
  at: readonly [number, number],
  versions: readonly number[],
  tokens: readonly number[],
) => span(chart, "generate", at, { versions, version_tokens: tokens });

const arrowsOf = (entries: readonly string[]) =>
  parsed(entries)
    .filter(({ ph }) => ph === "s" || ph === "f")
    .map(({ name, ph, tid, ts }) => [name, ph, tid, ts]);

const names = ["train", "score", "filter", "update", "close", "group", "turn", "generate", "step", "mine"] as const;

/** A span begins, or one of the open ones ends; time passes before. */
const actions = fc.array(
  fc.record({ wait: fc.nat(50), begin: fc.option(fc.constantFrom(...names)), end: fc.nat(), version: fc.nat(5) }),
  { maxLength: 200 },
);

describe("the chart of a trace", () => {
  it("is a valid trace without overlap on any track, whatever spans there are", () => {
    assertProperty(
      fc.property(actions, (all) => {
        const chart = new TraceChart();
        const open: OpenSpan[] = [];
        const entries: string[] = [];
        let now = 0;
        let spans = 0;
        for (const { begin, end, version, wait } of all) {
          now += wait;
          if (begin !== null) open.push(chart.begin(begin, us(now)));
          else if (open.length > 0) {
            const [begun] = open.splice(end % open.length, 1);
            const replyAttributes = { version, versions: [version, version + 1], version_tokens: [3, wait] };
            entries.push(...chart.end(begun!, us(now), attributes(replyAttributes), null));
            spans++;
          }
        }
        const { arrows = 0, ...counts } = check(textOf(entries));
        expect(Object.values(counts).reduce((sum, count) => sum + count, 0)).toBe(spans);
        expect(arrows).toBeGreaterThanOrEqual(0);
      }),
    );
  });

  it("leads an arrow from an update to the first reply of each slot that was sampled with it", () => {
    const chart = new TraceChart();
    const entries = [...update(chart, 1, [0, 10]), ...reply(chart, [20, 30], [1], [4])];
    const [first, second] = [chart.begin("generate", us(40)), chart.begin("generate", us(41))];
    const replyAttributes = attributes({ versions: [1], version_tokens: [4] });
    entries.push(
      ...chart.end(first, us(50), replyAttributes, null),
      ...chart.end(second, us(51), replyAttributes, null),
    );
    expect(arrowsOf(entries)).toEqual([
      ["weights v1", "s", 200_001, 9.999],
      ["weights v1", "f", 1, 20],
      ["weights v1", "s", 200_001, 9.999],
      ["weights v1", "f", 2, 41],
    ]);
    check(textOf(entries));
  });

  it("reaches a reply that spans versions where the new one begins", () => {
    const chart = new TraceChart();
    const entries = [...update(chart, 3, [0, 10]), ...reply(chart, [4, 24], [2, 3], [30, 10])];
    expect(arrowsOf(entries).map(([, , , ts]) => ts)).toEqual([9.999, 19]);
  });

  it("keeps an arrow until the update it leaves from has ended", () => {
    const chart = new TraceChart();
    const updating = chart.begin("update", us(0));
    const entries = [...reply(chart, [5, 9], [1], [2])];
    expect(arrowsOf(entries)).toEqual([]);
    entries.push(...chart.end(updating, us(12), attributes({ version: 1 }), null));
    expect(arrowsOf(entries).map(([, , , ts]) => ts)).toEqual([4.999, 5]);
    check(textOf(entries));
  });

  it("shows adopted weights as instants and gauges as counters", () => {
    const chart = new TraceChart();
    const [adopted] = parsed(chart.event({ _tag: "WeightsAdopted", version: 4 }, us(0)));
    expect(adopted).toMatchObject({ ph: "i", name: "adopted v4", args: { version: 4 } });
    expect(chart.event({ _tag: "Scored", window: 1 }, us(0))).toEqual([]);
    const first = parsed(chart.sample(sample(1000, [stage("rollout", { queue: 3, running: 2 })], 100), us(1)));
    expect(first.find(({ name }) => name === "queue rollout")).toMatchObject({ ph: "C", args: { items: 3 } });
    // A rate needs two samples.
    expect(first.map(({ name }) => name)).not.toContain("tokens per second");
    const second = parsed(chart.sample(sample(3000, [], 500), us(2)));
    expect(second.find(({ name }) => name === "tokens per second")?.args).toEqual({ generated: 200, trained: 0 });
    expect(parsed(chart.step(stepRecord(1, { "staleness/mean": 0.5 })))[0]).toMatchObject({
      name: "staleness",
      args: { mean: 0.5 },
    });
    expect(chart.step(stepRecord(1))).toEqual([]);
  });
});
