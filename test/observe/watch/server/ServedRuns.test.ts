/** The runs of a server, and how new its view of them is. */
import { EventEmitter } from "node:events";
import { appendFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import type { BrowserResponse } from "../../../../src/observe/watch/server/Browser.ts";
import { ServedRuns } from "../../../../src/observe/watch/server/ServedRuns.ts";
import { defaultLimits } from "../../../../src/observe/watch/server/WatchServer.ts";
import { noAttribution } from "../../../../src/observe/watch/store/RunSnapshot.ts";
import { currentOwner } from "../../../../src/support/process/Owner.ts";
import { metricLine, writeRun } from "../syntheticRun.ts";
import { id, type Place, placed } from "./serving.ts";

let place: Place;
beforeEach(() => {
  place = placed({ steps: 4 });
});
afterEach(() => place.remove());

/** A browser of a feed, and what it was sent. */
class Reader extends EventEmitter implements BrowserResponse {
  readonly destroyed = false;
  readonly socket = null;
  text = "";
  write(text: string): boolean {
    this.text += text;
    return true;
  }
  end(): void {}
  destroy(): void {}
}

it("a browser is told of an end that an answer to a question found first", async () => {
  let now = 0;
  writeFileSync(join(place.folder, "lock"), JSON.stringify(await currentOwner("2026-11-22T00:00:00Z")));
  const runs = new ServedRuns(
    { runs: [place.folder] },
    noAttribution,
    { ...defaultLimits, safetyMs: 3_600_000 },
    () => now,
  );
  const browser = new Reader();
  runs.feed(id)?.add(browser);
  await (await runs.store(id))?.ready;
  while (!browser.text.includes("event: line")) await new Promise((resolve) => setTimeout(resolve, 10));
  expect(runs.isEveryEndRead).toBe(false);
  rmSync(join(place.folder, "lock"));
  now += 60_000;
  expect((await (await runs.store(id))?.card())?.state).toBe("completed");
  while (!runs.isEveryEndRead) await new Promise((resolve) => setTimeout(resolve, 10));
  expect(browser.text).toContain('event: ended\ndata: "completed"');
  runs.close();
});

describe("the runs that a server shows", () => {
  it("have ids that differ, and each folder is shown once", () => {
    const other = join(place.root, "other", "made", "20261122-000000");
    writeRun(other, { steps: 1 });
    symlinkSync(place.folder, join(place.root, "link"));
    const runs = new ServedRuns(
      { runs: [place.folder, join(place.root, "link"), other] },
      noAttribution,
      defaultLimits,
      () => 0,
    );
    expect(runs.ids()).toEqual([id, `${id}~2`]);
  });

  it("are all below a folder, a sweep's by the sweep's name too, as they come and go", async () => {
    let now = 0;
    const point = join(place.root, "sweep", "lr=1,seed=0", "20261123-000000");
    writeRun(point, { steps: 3 });
    symlinkSync("/", join(place.root, "out"));
    const runs = new ServedRuns({ runs: [], below: [place.root] }, noAttribution, defaultLimits, () => now);
    expect(runs.ids()).toEqual([id, "sweep/lr=1,seed=0/20261123-000000"]);
    const card = await (await runs.store("sweep/lr=1,seed=0/20261123-000000"))?.card();
    expect(card).toMatchObject({ name: "sweep/lr=1,seed=0", stamp: "20261123-000000", step: 3 });
    writeRun(join(place.root, "later", "20261124-000000"), { steps: 1 });
    rmSync(place.folder, { recursive: true });
    now += 60_000;
    expect(runs.ids()).toEqual(["sweep/lr=1,seed=0/20261123-000000", "later/20261124-000000"]);
  });

  it("are read when they are looked at, and of a list only as far as it shows", async () => {
    let now = 0;
    const runs = new ServedRuns({ runs: [place.folder] }, noAttribution, defaultLimits, () => now);
    const store = (await runs.store(id))!;
    expect([(await store.card()).state, store.isRead]).toEqual(["completed", false]);
    now += 60_000;
    await runs.store(id);
    expect(store.isRead).toBe(false);
    appendFileSync(join(place.folder, "metrics.jsonl"), `${metricLine(5, 8)}\n`);
    now += 60_000;
    await runs.store(id);
    while (!store.isRead) await new Promise((resolve) => setTimeout(resolve, 5));
    expect(store.lastStep()).toBe(5);
  });

  it("are had before they are read, and as they are once they have been", async () => {
    let now = 0;
    const runs = new ServedRuns({ runs: [place.folder] }, noAttribution, defaultLimits, () => now);
    now += 60_000;
    const store = (await runs.store(id))!;
    expect(store.isRead).toBe(false);
    expect((await store.card()).step).toBe(4);
    await store.ready;
    writeRun(place.folder, { steps: 7 });
    now += 60_000;
    expect((await (await runs.store(id))!.card()).step).toBe(7);
  });
});
