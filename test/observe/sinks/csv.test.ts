/** The sink that writes CSV. */
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { it } from "@effect/vitest";
import { Effect } from "effect";
import { afterAll, describe, expect } from "vitest";
import { metricOf } from "../../../src/domain/metrics/Catalogue.ts";
import { metricsFrom } from "../../../src/domain/metrics/Metrics.ts";
import { csv } from "../../../src/observe/sinks/csv.ts";
import type { RunInfo } from "../../../src/observe/sinks/Sink.ts";

const folder = mkdtempSync(join(tmpdir(), "millrace-csv-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const infoOf = (from: number) => ({ folder, from }) as RunInfo;
const step = (number: number, success: number | undefined) => ({
  step: number,
  time: 0,
  metrics: metricsFrom([metricOf("train/success"), success]),
});

describe("the CSV sink", () => {
  it.effect("writes a row a step, with an empty cell for what was not measured, and goes on in its file", () =>
    Effect.gen(function* () {
      const first = csv("steps.csv", ["train/success", "actor/entropy"]);
      yield* first.open(infoOf(0));
      yield* first.step(step(1, 0.5));
      const resumed = csv("steps.csv", ["train/success", "actor/entropy"]);
      yield* resumed.open(infoOf(1));
      yield* resumed.step(step(2, undefined));
      expect(readFileSync(join(folder, "steps.csv"), "utf8")).toBe("step,train/success,actor/entropy\n1,0.5,\n2,,\n");
    }),
  );

  it.effect("has one row of a step that a resumed run makes again, and a head in any case", () =>
    Effect.gen(function* () {
      const open = Effect.fnUntraced(function* (from: number, steps: readonly number[]) {
        const sink = csv("again.csv", ["train/success"]);
        yield* sink.open(infoOf(from));
        for (const number of steps) yield* sink.step(step(number, from));
      });
      yield* open(5, [6]);
      yield* open(0, [1, 2, 10]);
      yield* open(2, [3]);
      expect(readFileSync(join(folder, "again.csv"), "utf8")).toBe("step,train/success\n1,0\n2,0\n3,2\n");
      yield* open(0, []);
      expect(readFileSync(join(folder, "again.csv"), "utf8")).toBe("step,train/success\n");
    }),
  );
});
