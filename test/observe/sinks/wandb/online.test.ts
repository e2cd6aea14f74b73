import { existsSync, readdirSync, readFileSync, rmSync, statSync } from "node:fs";
import { join } from "node:path";
import { describe, it } from "@effect/vitest";
import { Effect, Fiber } from "effect";
import { TestClock } from "effect/testing";
import fc from "fast-check";
import { afterEach, beforeEach, expect } from "vitest";
import type { RunInfo } from "../../../../src/observe/sinks/Sink.ts";
import { stepRecord } from "../../../build/records.ts";
import { assertProperty } from "../../../property.ts";
import { collected } from "../../../warnings.ts";
import { run as base, sample } from "../fixtures.ts";
import {
  entriesIn,
  episode,
  type Fault,
  KEY,
  online,
  runFolder,
  StandIn,
  steps,
  stepsIn,
  temporary,
  until,
  wandbFile,
} from "./support.ts";

let folder: string;
let remove: () => void;
beforeEach(() => {
  ({ folder, remove } = temporary());
});
afterEach(() => remove());

const info = (over: Partial<RunInfo> = {}): RunInfo => ({ ...base, folder, ...over });

/** Moves the clock, and lets real file reads go on, until the effect is done: for what needs time to fail. */
const driven = <A, E>(effect: Effect.Effect<A, E>) =>
  Effect.gen(function* () {
    const fiber = yield* Effect.forkChild(effect, { startImmediately: true });
    while (fiber.pollUnsafe() === undefined) {
      yield* Effect.promise(() => new Promise((resume) => setTimeout(resume, 1)));
      yield* TestClock.adjust(250);
    }
    return yield* Fiber.join(fiber);
  });

/** Moves the clock as far as it takes. */
const advanceUntil = (holds: () => boolean, stepMs = 1000) =>
  Effect.gen(function* () {
    for (let turns = 0; !holds(); turns++) {
      if (turns > 2000) throw new Error("it never came to hold");
      yield* TestClock.adjust(stepMs);
      yield* Effect.promise(() => new Promise((resume) => setTimeout(resume, 1)));
    }
  });

const upTo = (last: number) => Array.from({ length: last }, (_, index) => index + 1);

describe("a stream to W&B's server", () => {
  it.effect("brings the run, its lines in order, its tables and its end", () =>
    Effect.gen(function* () {
      const server = new StandIn();
      const sink = online(server.http);
      yield* sink.open(info());
      yield* until(() => server.configs.length === 1);
      yield* steps(sink, 1, 3);
      yield* sink.gauges?.(sample(0)) ?? Effect.void;
      yield* sink.gauges?.(sample(10_000)) ?? Effect.void;
      yield* advanceUntil(() => server.history.length === 3);
      yield* sink.episodes?.([episode("val", 4)]) ?? Effect.void;
      yield* steps(sink, 4, 4);
      // The clock stands still: nothing at the end of a run waits for it.
      yield* sink.close({ _tag: "Completed" });
      expect(server.wrong).toEqual([]);
      expect(server.history).toEqual([1, 2, 3, 4]);
      expect(server.exitCode).toBe(0);
      expect(server.lines["output.log"]?.at(-1)).toMatch(/^1970-01-01T\d\d:\d\d:\d\d\.\d{6} completed$/);
      expect(JSON.parse(server.lines["wandb-events.jsonl"]?.[0] ?? "")).toMatchObject({
        _wandb: true,
        _runtime: 10,
        "system.cpu": 100,
      });
      const summary = JSON.parse(server.lines["wandb-summary.json"]?.[0] ?? "");
      expect(summary).toMatchObject({ _step: 4, "val/generations": { nrows: 1, _type: "table-file" } });
      expect(Object.keys(server.files)).toEqual([summary["val/generations"].path]);
      const config = JSON.parse(server.configs[0] ?? "");
      expect(config.run.value).toEqual({ name: "quickstart", seed: 0 });
      expect(config._wandb.value.m[0]).toEqual({ 1: "step", 6: [2, 3], 7: [] });
      expect(config._wandb.value.m[1]).toMatchObject({ 5: 1, 6: [1, 3] });
      expect(existsSync(`${wandbFile(folder)}.synced`)).toBe(true);
    }),
  );

  it.effect("alerts of each alarm once, with what to change", () =>
    Effect.gen(function* () {
      const server = new StandIn();
      const sink = online(server.http);
      yield* sink.open(info());
      yield* until(() => server.configs.length === 1);
      const words = { title: "contexts are full", measured: "40 % ended.", cause: "The context.", advice: "Raise it." };
      yield* sink.event!({ _tag: "AlarmRaised", alarm: "context", sign: "cutInTraining", step: 3, ...words });
      yield* steps(sink, 3, 4);
      yield* sink.event!({ _tag: "AlarmEnded", alarm: "context", step: 4, title: words.title });
      yield* sink.close({ _tag: "Completed" });
      expect(server.wrong).toEqual([]);
      expect(server.alerts).toEqual([
        {
          entityName: "team",
          projectName: "millrace",
          runName: expect.any(String),
          title: "contexts are full (step 3)",
          text: "40 % ended.\nThe context.\nRaise it.",
          severity: "WARN",
          waitDuration: 60_000,
        },
      ]);
      expect(server.lines["output.log"]?.some((line) => line.endsWith("warning: contexts are full (step 3)"))).toBe(
        true,
      );
    }),
  );

  it.effect("tells the server of metrics that come later", () =>
    Effect.gen(function* () {
      const server = new StandIn();
      const sink = online(server.http);
      yield* sink.open(info());
      yield* until(() => server.configs.length === 1);
      yield* sink.step(stepRecord(1, { "custom/mine": 1 }));
      yield* advanceUntil(() => server.configs.length === 2);
      expect(server.configs[0]).not.toContain("custom/mine");
      expect(server.configs[1]).toContain("custom/mine");
      yield* sink.close({ _tag: "Completed" });
    }),
  );

  it.effect("shows every 30 s that the run is alive", () =>
    Effect.gen(function* () {
      const server = new StandIn();
      const sink = online(server.http);
      yield* sink.open(info());
      yield* advanceUntil(() => server.lines["output.log"] !== undefined);
      expect(server.heartbeats).toBe(0);
      yield* advanceUntil(() => server.heartbeats === 3);
      yield* sink.close({ _tag: "Failed", message: "no engine" });
      expect(server.exitCode).toBe(1);
      expect(server.wrong).toEqual([]);
    }),
  );

  it.effect("sends few requests, however many the steps", () =>
    Effect.gen(function* () {
      const server = new StandIn();
      const sink = online(server.http);
      yield* sink.open(info());
      yield* until(() => server.lines["output.log"] !== undefined);
      const before = server.requests.length;
      for (const step of upTo(50)) {
        yield* steps(sink, step, step);
        yield* TestClock.adjust(250);
      }
      yield* advanceUntil(() => server.history.length === 50);
      expect(server.requests.length - before).toBeLessThanOrEqual(4);
      yield* driven(sink.close({ _tag: "Completed" }));
    }),
  );
});

const faults: readonly Fault[] = [
  "ok",
  { status: 500 },
  { status: 503, retryAfter: "3" },
  { status: 429, retryAfter: "1" },
  { status: 429 },
  "cut",
  "refuse",
  "hang",
];

describe("a server that fails", () => {
  it("gets each line once, without a gap, whatever its failures", () =>
    assertProperty(
      fc.asyncProperty(fc.array(fc.constantFrom(...faults), { maxLength: 12 }), (script) => {
        const runFolder = temporary();
        const { layer } = collected();
        return Effect.runPromise(
          Effect.gen(function* () {
            const server = new StandIn();
            server.fault = (index) => script[index] ?? "ok";
            const sink = online(server.http);
            yield* sink.open(info({ folder: runFolder.folder }));
            for (const step of upTo(6)) {
              yield* steps(sink, step, step);
              yield* TestClock.adjust(5000);
            }
            yield* advanceUntil(() => server.history.length === 6 && server.requests.length > script.length, 5000);
            yield* sink.close({ _tag: "Completed" });
            expect(server.wrong).toEqual([]);
            expect(server.history).toEqual(upTo(6));
            expect(server.exitCode).toBe(0);
          }).pipe(
            Effect.ensuring(Effect.sync(runFolder.remove)),
            Effect.provide(TestClock.layer()),
            Effect.provide(layer),
          ),
        );
      }),
      { numRuns: 12 },
    ));

  it.effect("is left alone for as long as it asks", () =>
    Effect.gen(function* () {
      const server = new StandIn();
      server.fault = (index) => (index === 0 ? { status: 429, retryAfter: "90" } : "ok");
      const sink = online(server.http);
      yield* sink.open(info());
      yield* until(() => server.requests.length === 1);
      yield* TestClock.adjust(89_999);
      expect(server.requests.length).toBe(1);
      yield* advanceUntil(() => server.requests.length > 1, 1);
      yield* sink.close({ _tag: "Completed" });
      expect(server.exitCode).toBe(0);
    }).pipe(Effect.provide(collected().layer)),
  );

  it.effect("is tried less and less often, and told of once", () => {
    const { layer, lines } = collected();
    return Effect.gen(function* () {
      const server = new StandIn();
      const times: number[] = [];
      let now = 0;
      server.fault = () => {
        times.push(now);
        return { status: 500 };
      };
      const sink = online(server.http);
      yield* sink.open(info());
      yield* until(() => times.length === 1);
      while (times.length < 9) {
        now += 500;
        yield* TestClock.adjust(500);
      }
      const waits = times.slice(1).map((time, index) => time - (times[index] ?? 0));
      waits.forEach((wait, index) => {
        const doubled = Math.min(60_000, 2000 * 2 ** index);
        expect(wait).toBeGreaterThanOrEqual(0.75 * doubled - 500);
        expect(wait).toBeLessThanOrEqual(1.25 * doubled + 500);
      });
      expect(lines).toHaveLength(1);
      expect(lines[0]).toContain("HTTP 500");
      yield* driven(sink.close({ _tag: "Completed" }));
    }).pipe(Effect.provide(layer));
  });

  it.effect("that refuses the key is asked once, and the run told so", () => {
    const { layer, lines } = collected();
    return Effect.gen(function* () {
      const server = new StandIn();
      server.fault = () => ({ status: 401, text: `invalid key ${KEY}` });
      const sink = online(server.http);
      yield* sink.open(info());
      yield* until(() => lines.length === 1);
      yield* steps(sink, 1, 2);
      yield* TestClock.adjust(600_000);
      expect(server.requests.length).toBe(1);
      yield* driven(sink.close({ _tag: "Completed" }));
      expect(lines[0]).toContain("HTTP 401 invalid key ***; nothing more is sent");
      expect(lines[1]).toMatch(/not all of the run was delivered \(HTTP 401.*\); `wandb sync .*offline-run-.*` sends/);
      expect(lines).toHaveLength(2);
      expect(yield* Effect.promise(() => stepsIn(wandbFile(folder)))).toEqual([1, 2]);
    }).pipe(Effect.provide(layer));
  });

  it.effect("that never answers holds up no step, and the end for a few seconds at most", () => {
    const { layer, lines } = collected();
    return Effect.gen(function* () {
      const server = new StandIn();
      server.fault = () => "hang";
      const sink = online(server.http);
      yield* sink.open(info());
      // No time passes: a step that waited for the server would never be done.
      yield* steps(sink, 1, 20);
      yield* driven(sink.close({ _tag: "Completed" }));
      expect(lines.at(-1)).toContain("`wandb sync ");
      expect(yield* Effect.promise(() => stepsIn(wandbFile(folder)))).toEqual(upTo(20));
      const entries = yield* Effect.promise(() => entriesIn(wandbFile(folder)));
      expect(entries.at(-1)?._tag).toBe("Exit");
      expect(existsSync(`${wandbFile(folder)}.synced`)).toBe(false);
    }).pipe(Effect.provide(layer));
  });

  it.effect("that goes away for good gets the rest when the run goes on", () =>
    Effect.gen(function* () {
      const server = new StandIn();
      const first = online(server.http);
      yield* first.open(info());
      yield* steps(first, 1, 3);
      yield* advanceUntil(() => server.history.length === 3);
      server.fault = () => "refuse";
      yield* steps(first, 4, 8);
      yield* driven(first.close({ _tag: "Stopped", reason: "interrupted" }));
      expect(server.history).toEqual([1, 2, 3]);
      server.fault = () => "ok";
      const before = server.requests.length;
      const second = online(server.http);
      yield* second.open(info({ from: 8 }));
      yield* steps(second, 9, 10);
      yield* second.close({ _tag: "Completed" });
      expect(server.history).toEqual(upTo(10));
      expect(server.wrong).toEqual([]);
      // The entries that the server had are not sent again.
      const bodies = server.requests.slice(before).map(({ body }) => JSON.parse(String(body)));
      const offsets = bodies.flatMap(({ files }) => files?.["wandb-history.jsonl"]?.offset ?? []);
      expect(offsets[0]).toBe(3);
    }).pipe(Effect.provide(collected().layer)),
  );

  it.effect("has the steps that are done again in place of the ones before", () =>
    Effect.gen(function* () {
      const server = new StandIn();
      const first = online(server.http);
      yield* first.open(info());
      yield* steps(first, 1, 6);
      yield* advanceUntil(() => server.history.length === 6);
      // Killed here, and gone on with from an earlier checkpoint.
      const second = online(server.http);
      yield* second.open(info({ from: 4 }));
      yield* second.step(stepRecord(5, { again: 1 }));
      yield* steps(second, 6, 7);
      yield* second.close({ _tag: "Completed" });
      expect(server.history).toEqual(upTo(7));
      expect(server.lines["wandb-history.jsonl"]?.[4]).toContain('"again":1');
    }),
  );
});

describe("a folder that is taken away", () => {
  it.effect("ends the stream with the sink", () =>
    Effect.gen(function* () {
      const server = new StandIn();
      const sink = online(server.http);
      yield* sink.open(info());
      yield* advanceUntil(() => server.lines["output.log"] !== undefined);
      rmSync(join(folder, "wandb"), { recursive: true });
      const error = yield* Effect.flip(sink.step(stepRecord(1)));
      expect(error.message).toContain("ENOENT");
      const requests = server.requests.length;
      yield* TestClock.adjust(120_000);
      expect(server.requests.length).toBe(requests);
    }),
  );
});

const filesUnder = (path: string): readonly string[] =>
  statSync(path).isDirectory() ? readdirSync(path).flatMap((name) => filesUnder(join(path, name))) : [path];

describe("the key", () => {
  it.effect("is in no file and no message, also where the server says it", () => {
    const { layer, lines } = collected();
    return Effect.gen(function* () {
      const server = new StandIn();
      const credentials = Buffer.from(`api:${KEY}`).toString("base64");
      server.fault = (index) => (index % 3 === 1 ? { status: 500, text: `${KEY} ${credentials}` } : "ok");
      const sink = online(server.http);
      yield* sink.open(info());
      yield* sink.episodes?.([episode("val", 1)]) ?? Effect.void;
      yield* steps(sink, 1, 3);
      yield* advanceUntil(() => server.history.length === 3);
      server.fault = () => ({ status: 403, text: `${KEY} ${credentials}` });
      yield* driven(sink.close({ _tag: "Completed" }));
      const logText = lines.join("\n");
      expect(logText).toContain("*** ***");
      for (const secret of [KEY, credentials]) {
        expect(logText).not.toContain(secret);
        const holding = filesUnder(folder).filter((path) => readFileSync(path).includes(secret));
        expect(holding).toEqual([]);
        expect(filesUnder(folder).join()).not.toContain(secret);
      }
      expect(filesUnder(runFolder(folder)).length).toBeGreaterThan(4);
      expect(JSON.stringify(sink)).not.toContain(KEY);
    }).pipe(Effect.provide(layer));
  });
});
