/** The messages that browsers get while a run's folder grows. */
import { EventEmitter } from "node:events";
import { appendFileSync, readFileSync, rmSync, truncateSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { SubscriptionRef } from "effect";
import { afterEach, describe, expect, it } from "vitest";
import type { LineView } from "../../../../src/observe/watch/Api.ts";
import { Browser, type BrowserResponse } from "../../../../src/observe/watch/server/Browser.ts";
import { currentOwner } from "../../../../src/support/process/Owner.ts";
import { metricLine, START } from "../syntheticRun.ts";
import { ask, type Place, path, placed, type Served, served } from "./serving.ts";

const opened: { place: Place; server: Served; looking: AbortController }[] = [];
afterEach(async () => {
  for (const { looking, place, server } of opened.splice(0)) {
    looking.abort();
    await server.close();
    place.remove();
  }
});

const open = async (limits = {}) => {
  const place = placed({ ended: false, steps: 10 });
  writeFileSync(join(place.folder, "lock"), JSON.stringify(await currentOwner("2026-11-22T00:00:00Z")));
  const server = await served([place.folder], { limits: { safetyMs: 60_000, ...limits } });
  const looking = new AbortController();
  opened.push({ place, server, looking });
  return { ...place, server, looking };
};

const hasGroups = (view: unknown): boolean => (view as LineView).groups.length > 0;

/** A browser that listens. */
const listening = async (server: Served, looking: AbortController) => {
  const { body, status } = await fetch(`${server.url}${path("/live")}`, { signal: looking.signal });
  const reader = body!.pipeThrough(new TextDecoderStream()).getReader();
  let text = "";
  /** The next message of a name for which `matches` holds. */
  const next = async (name: string, matches: (data: unknown) => boolean = () => true): Promise<unknown> => {
    for (;;) {
      const end = text.indexOf("\n\n");
      if (end >= 0) {
        const message = /^event: (\w+)\ndata: (.*)$/.exec(text.slice(0, end));
        text = text.slice(end + 2);
        const data: unknown = message?.[1] === name ? JSON.parse(message[2] ?? "") : undefined;
        if (data !== undefined && matches(data)) return data;
        continue;
      }
      const { done, value } = await reader.read();
      if (done) return "closed";
      text += value;
    }
  };
  return { status, next };
};

const admitted = (group: number): string =>
  `${JSON.stringify({ step: 11, at: START + 11_000 + group, _tag: "Admitted", group, window: 10 })}\n`;

describe("a browser that listens to a run", () => {
  it("sees the newest moment at once, and each change", async () => {
    const { folder, looking, server } = await open();
    const { next } = await listening(server, looking);
    expect(await next("line")).toMatchObject({ step: 10, groups: [] });
    appendFileSync(join(folder, "events.jsonl"), admitted(77));
    expect(((await next("line", hasGroups)) as LineView).groups.map(({ group }) => group)).toEqual([77]);
    appendFileSync(join(folder, "metrics.jsonl"), `${metricLine(11, 8)}\n`);
    expect(await next("step")).toEqual({ step: 11 });
  });

  it("is told when the run ends", async () => {
    const { folder, looking, server } = await open();
    const { next } = await listening(server, looking);
    await next("line");
    const end = { step: 10, at: START + 12_000, _tag: "End", outcome: "stopped", message: "interrupted" };
    appendFileSync(join(folder, "events.jsonl"), `${JSON.stringify(end)}\n`);
    rmSync(join(folder, "lock"));
    expect(await next("ended")).toBe("stopped");
    expect(JSON.parse((await ask(server.port, path())).text)).toMatchObject({
      state: "stopped",
      message: "interrupted",
    });
  });

  it("is told that a run was killed, and of the one that goes on from its checkpoint", async () => {
    const { folder, looking, server } = await open();
    const lock = readFileSync(join(folder, "lock"));
    const { next } = await listening(server, looking);
    await next("line");
    rmSync(join(folder, "lock"));
    expect(await next("ended")).toBe("dead");
    const events = readFileSync(join(folder, "events.jsonl"), "utf8");
    truncateSync(join(folder, "events.jsonl"), events.indexOf('{"step":6,'));
    writeFileSync(join(folder, "lock"), lock);
    appendFileSync(
      join(folder, "events.jsonl"),
      `${JSON.stringify({ step: 5, at: START + 20_000, _tag: "Resumed" })}\n`,
    );
    const resumed = await next("line", (view) => (view as LineView).step === 5);
    expect(resumed).toMatchObject({ at: START + 20_000, groups: [] });
  });

  it("is one of fifty that all see the same", async () => {
    const { folder, looking, server } = await open();
    const browsers = await Promise.all(Array.from({ length: 50 }, () => listening(server, looking)));
    await Promise.all(browsers.map(({ next }) => next("line")));
    expect(SubscriptionRef.getUnsafe(server.browsers)).toBe(50);
    appendFileSync(join(folder, "events.jsonl"), admitted(5));
    const views = await Promise.all(browsers.map(({ next }) => next("line", hasGroups)));
    expect(new Set(views.map((view) => JSON.stringify(view))).size).toBe(1);
  });

  it("is refused where too many listen already", async () => {
    const { looking, server } = await open({ browsers: 1 });
    await listening(server, looking);
    const { status, text } = await ask(server.port, path("/live"));
    expect([status, JSON.parse(text)]).toEqual([503, { error: "1 browsers listen already" }]);
  });
});

/** A response whose reader can stop reading. */
class Reader extends EventEmitter implements BrowserResponse {
  reads = true;
  destroyed = false;
  readonly written: string[] = [];
  readonly socket = null;
  write(text: string): boolean {
    this.written.push(text);
    return this.reads;
  }
  end(): void {}
  destroy(): void {
    this.destroyed = true;
  }
}

describe("a browser that does not read", () => {
  const stuck = () => {
    const reader = new Reader();
    const browser = new Browser(reader);
    reader.reads = false;
    browser.send("line", "0", 0);
    return { browser, reader };
  };

  it("costs one message of each kind, the newest", () => {
    const { browser, reader } = stuck();
    for (let i = 1; i <= 10_000; i++) browser.send("line", String(i), i);
    browser.send("step", "7", 1);
    expect(reader.written).toHaveLength(2);
    reader.reads = true;
    reader.emit("drain");
    expect(reader.written.slice(2)).toEqual(["event: line\ndata: 10000\n\n", "event: step\ndata: 7\n\n"]);
  });

  it("is cut off after a while, and not before", () => {
    const { browser, reader } = stuck();
    browser.keepAlive(29_999, 30_000);
    expect(reader.destroyed).toBe(false);
    browser.keepAlive(30_000, 30_000);
    expect(reader.destroyed).toBe(true);
  });
});
