/** A run's folder as the page reads it: at any moment, without its indexes, and after a resumed run has cut it back. */
import { appendFileSync, readFileSync, rmSync, truncateSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import fc from "fast-check";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { decode, type EventLine } from "../../../../src/observe/record/events/EventLine.ts";
import type { EpisodeQuery } from "../../../../src/observe/watch/store/EpisodesIndex.ts";
import { noAttribution, RunSnapshot } from "../../../../src/observe/watch/store/RunSnapshot.ts";
import { RunStore } from "../../../../src/observe/watch/store/RunStore.ts";
import { assertProperty } from "../../../property.ts";
import { damages, spoil, textsIn } from "../../../spoiltFolder.ts";
import { type Place, placed } from "../server/serving.ts";
import { metricLine, START, type Synthetic, writeRun } from "../syntheticRun.ts";

let place: Place;
beforeEach(() => {
  place = placed();
});
afterEach(() => place.remove());

const opened = async (): Promise<RunStore> => {
  const store = new RunStore({ id: "made", folder: place.folder, attribute: noAttribution });
  await store.ready;
  return store;
};

const file = (name: string): string => join(place.folder, name);
const lines = (): readonly EventLine[] =>
  readFileSync(file("events.jsonl"), "utf8")
    .split("\n")
    .flatMap((line) => decode(line) ?? []);

const all: EpisodeQuery = {
  from: 0,
  to: Number.MAX_SAFE_INTEGER,
  split: null,
  tag: null,
  success: null,
  verdict: null,
  offset: 0,
  limit: 1_000,
};

const write = (changes: Partial<Synthetic>) => writeRun(place.folder, changes);

describe("time travel", () => {
  it.each([true, false])("shows what reading all lines up to the moment shows, with an index: %j", async (indexed) => {
    if (!indexed) rmSync(file("events.index.jsonl"));
    const store = await opened();
    for (const at of [START, START + 1, START + 7_000, START + 20_505, START + 20_999, START + 39_950]) {
      const moment = new RunSnapshot();
      for (const line of lines()) if (line.at <= at) moment.observe(line);
      const { adoptions, ...view } = (await store.line(at))!;
      const { adoptions: _, ...whole } = moment.view([], noAttribution);
      expect(view).toEqual(whole);
      expect(adoptions.length).toBe(Math.min(20, Math.floor((at - START + 50) / 1_000)));
    }
  });

  it("shows what could be set beside the stages' slots, as it was", async () => {
    const store = await opened();
    const lanesAt = async (at: number) => (await store.line(at))?.settings;
    expect(await lanesAt(START + 7_000)).toEqual([{ name: "lanes", concurrency: 2, most: 2 }]);
    expect(await lanesAt(START + 20_505)).toEqual([{ name: "lanes", concurrency: 1, most: 2 }]);
  });

  it("reads a run whose keyframes are far apart", async () => {
    write({ steps: 600, groups: 8, groupSize: 8, keyframeBytes: 262_144 });
    const store = await opened();
    expect(await store.line(START + 500_500)).toMatchObject({ step: 500, version: 500, adopted: 500 });
    expect((await store.line(START + 500_500))?.staleness).toEqual([0, 20 * 7 * 8 * 6]);
  });

  it("does not believe an index that names other places", async () => {
    writeFileSync(file("events.index.jsonl"), '{"step":1,"at":1,"offset":7}\nnonsense\n{"step":2,"at":2,"offset":9}\n');
    const store = await opened();
    expect(await store.line(START + 20_505)).toMatchObject({ step: 20, at: START + 20_500 });
  });

  it("leaves lines out that are no events", async () => {
    const broken = ['{"_tag":"Finished","step":41,"at":1}', '{"_tag":"Gauges","step":41,"at":2}', "[]", "{", "\u0000"];
    appendFileSync(file("events.jsonl"), `${broken.join("\n")}\n`);
    const store = await opened();
    expect(await store.line(START + 20_505)).toMatchObject({ step: 20 });
    expect((await store.card()).state).toBe("completed");
  });
});

describe("recorded episodes", () => {
  const cards = async (store: RunStore) => (await store.episodes(all)).episodes;

  it("are found where the index is missing, short or torn", async () => {
    const whole = await cards(await opened());
    expect(whole).toHaveLength(20);
    const index = readFileSync(file("trajectories.index.jsonl"), "utf8");
    for (const part of ["", index.slice(0, index.length / 2), index.slice(0, -1)]) {
      writeFileSync(file("trajectories.index.jsonl"), part);
      expect(await cards(await opened())).toEqual(whole);
    }
    rmSync(file("trajectories.index.jsonl"));
    const store = await opened();
    expect(await cards(store)).toEqual(whole);
    expect((await store.group("train", 40, 156)).map((text) => JSON.parse(text).member)).toEqual([0, 1]);
  });

  it("grow with the files, whichever is written first", async () => {
    const records = readFileSync(file("trajectories.jsonl"), "utf8").trimEnd().split("\n");
    const index = readFileSync(file("trajectories.index.jsonl"), "utf8").trimEnd().split("\n");
    const first = (all: readonly string[], count: number) =>
      all
        .slice(0, count)
        .map((line) => `${line}\n`)
        .join("");
    writeFileSync(file("trajectories.jsonl"), first(records, 4));
    writeFileSync(file("trajectories.index.jsonl"), first(index, 4));
    const store = await opened();
    writeFileSync(file("trajectories.jsonl"), first(records, 6));
    await store.refresh();
    expect(await cards(store)).toHaveLength(6);
    writeFileSync(file("trajectories.index.jsonl"), first(index, 6));
    await store.refresh();
    expect(await cards(store)).toHaveLength(6);
  });

  it("are those of the run that goes on, after a cut", async () => {
    const store = await opened();
    write({ steps: 20, tokens: 9 });
    expect((await store.refresh()).episodes).toBe(true);
    const [newest] = await cards(store);
    expect(await cards(store)).toHaveLength(10);
    expect(newest).toMatchObject({ step: 20, tokens: 9 });
    expect(JSON.parse((await store.group("train", 20, 76))[0] ?? "").turns[0].ids).toHaveLength(9);
  });
});

describe("a run that goes on", () => {
  it("has the steps that it makes again once", async () => {
    const store = await opened();
    truncateSync(file("metrics.jsonl"), readFileSync(file("metrics.jsonl"), "utf8").indexOf('{"step":21,'));
    appendFileSync(file("metrics.jsonl"), `${metricLine(21, 8).replace('"made/m0":21', '"made/m0":-1')}\n`);
    await store.refresh();
    const { series, steps } = await store.curves(["made/m0"], 0, 100, 100);
    expect(steps.slice(-2)).toEqual([20, 21]);
    expect(series[0]?.mean.slice(-2)).toEqual([20, -1]);
  });

  it("has no mark, window or moment of what was cut", async () => {
    const store = await opened();
    truncateSync(file("events.jsonl"), readFileSync(file("events.jsonl"), "utf8").indexOf('{"step":21,'));
    const resumed = { step: 20, at: START + 90_000, _tag: "Resumed" };
    appendFileSync(file("events.jsonl"), `${JSON.stringify(resumed)}\n`);
    await store.refresh();
    const { marks } = await store.timeline(10);
    expect(marks.map(({ kind, step }) => [kind, step])).toEqual([
      ["validation", 10],
      ["validation", 20],
      ["resume", 20],
    ]);
    expect((await store.windows(0, 100, 100)).at(-1)?.step).toBe(20);
    expect(await store.line(null)).toMatchObject({ at: START + 90_000, step: 20, groups: [] });
    expect((await store.card()).state).toBe("dead");
  });
});

describe("a folder whose lines say anything", () => {
  const names = [
    "events.jsonl",
    "events.index.jsonl",
    "metrics.jsonl",
    "trajectories.jsonl",
    "trajectories.index.jsonl",
  ];
  it("answers all the same", async () => {
    const whole = textsIn(place.folder);
    await assertProperty(
      fc.asyncProperty(damages(names), async (changes) => {
        spoil(place.folder, whole, changes);
        const store = await opened();
        expect(await store.card()).toMatchObject({ id: "made" });
        for (const at of [null, START, START + 20_505, START + 39_000]) JSON.stringify(await store.line(at));
        JSON.stringify([await store.timeline(10), await store.windows(0, 100, 100), await store.episodes(all)]);
        JSON.stringify([await store.curves(["made/m1"], 0, 100, 10), [...(await store.csv(["made/m1"]))]]);
        for (const { group, split, step } of (await store.episodes(all)).episodes)
          await store.group(split, step, group);
      }),
      { numRuns: 60 },
    );
  });
});

describe("a folder without events", () => {
  it("is a run all the same", async () => {
    rmSync(file("events.jsonl"));
    rmSync(file("events.index.jsonl"));
    const store = await opened();
    expect(await store.card()).toMatchObject({ mode: "async", maxStaleness: 2, seed: 7, step: 40, state: "completed" });
    expect(await store.line(null)).toBeNull();
    expect(await store.windows(0, 100, 100)).toEqual([]);
  });
});
