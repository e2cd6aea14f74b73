/** A run with all sinks: every number of every step is the same in each of them. */
import process from "node:process";
import { it } from "@effect/vitest";
import { Effect } from "effect";
import { describe, expect, vi } from "vitest";
import * as Series from "../../src/observe/sinks/export/Series.ts";
import * as OtlpSink from "../../src/observe/sinks/otlp/OtlpSink.ts";
import * as Exposition from "../../src/observe/sinks/prometheus/Exposition.ts";
import type { RunInfo } from "../../src/observe/sinks/Sink.ts";
import { sinkOf } from "../../src/observe/sinks/sinkOf.ts";
import { stepRecord } from "../build/records.ts";
import { tinyConfig } from "../build/tinyConfig.ts";
import { collector } from "../observe/sinks/otlp/collector.ts";
import * as Recorded from "../observe/sinks/recorded.ts";
import { temporaryFolder } from "../temporaryFolder.ts";
import { train, writeModel } from "./tiny.ts";

const steps = 3;

/** Lines written on standard error while the scope lives. */
const standardError = Effect.acquireRelease(
  Effect.sync(() => {
    const written: string[] = [];
    const spy = vi.spyOn(process.stderr, "write").mockImplementation((text) => written.push(String(text)) > 0);
    return { spy, written };
  }),
  ({ spy }) => Effect.sync(() => spy.mockRestore()),
);

/** Scrapes the metrics while each step is recorded; the run waits for it. */
const scraper = (written: readonly string[]) => {
  const scraped: Recorded.Numbers[] = [];
  const info: RunInfo[] = [];
  const scrape = async (): Promise<Recorded.Numbers> => {
    const url = /^prometheus: (\S+)\n$/.exec(written.find((text) => text.startsWith("prometheus: ")) ?? "")?.[1] ?? "";
    return Recorded.ofScrape(await (await fetch(url)).text());
  };
  const sink = sinkOf({
    name: "scraper",
    essential: true,
    open: (run) => void info.push(run),
    step: async ({ step }) => {
      // The sink is fed on a fiber of its own: it has the step in a moment.
      for (let tries = 0; tries < 100; tries++) {
        const numbers = await scrape();
        if (numbers.get("millrace_run_step{}") !== step) continue;
        scraped.push(numbers);
        return;
      }
      throw new Error(`step ${step} was never scraped`);
    },
  });
  return { info, scraped, sink };
};

/** The metrics of a step as monitoring systems name them. */
const exported = (step: number, numbers: Recorded.Numbers, nameOf: (series: Series.Series) => string) =>
  new Map(
    Series.ofStep(stepRecord(step, Object.fromEntries(numbers))).map(
      (series) => [Recorded.keyOf(nameOf(series), Object.entries(series.labels)), series.value] as const,
    ),
  );

/** Without what is no step's: the gauges, the process and the run. */
const ofStep = (numbers: Recorded.Numbers): Recorded.Numbers =>
  new Map(
    [...numbers].filter(
      ([name]) => !/^millrace.(live|process|run.(info|steps))\b|^millrace_(live|process|run_(info|steps))/.test(name),
    ),
  );

describe("the sinks of a run", () => {
  it.live("record the same numbers under the same names", () =>
    Effect.scoped(
      Effect.gen(function* () {
        const dir = yield* temporaryFolder;
        yield* writeModel(dir);
        const { endpoint, posted } = yield* collector();
        const { written } = yield* standardError;
        const { info, scraped, sink } = scraper(written);
        const config = tinyConfig(dir, {
          trainer: { total_training_steps: steps, val_before_train: true },
          metrics: {
            sinks: ["jsonl", "wandb", "tensorboard", "otlp", "prometheus"],
            otlp: { endpoint },
            prometheus: { port: 0 },
          },
        });
        yield* train({ config, resume: null, parts: { sinks: [sink] } });
        expect(written).toEqual([expect.stringMatching(/^prometheus: http:\/\/127\.0\.0\.1:\d+\/metrics\n$/)]);

        const { folder } = info[0]!;
        const truth = Recorded.ofJsonLines(folder);
        expect([...truth.keys()]).toEqual([0, 1, 2, 3]);
        expect(truth.get(steps)?.size).toBeGreaterThan(80);
        expect(yield* Effect.promise(() => Recorded.ofWandb(folder))).toEqual(truth);
        const rounded = [...truth].map(
          ([step, numbers]) =>
            [step, new Map([...numbers].map(([name, value]) => [name, Math.fround(value)]))] as const,
        );
        expect(Recorded.ofTensorBoard(folder)).toEqual(new Map(rounded));

        const names = [...truth];
        expect(scraped.map(ofStep)).toEqual(names.map(([step, numbers]) => exported(step, numbers, Exposition.nameOf)));
        const last = posted.filter(({ path }) => path === "/v1/metrics").at(-1)?.body ?? "";
        expect(ofStep(Recorded.ofOtlp(last))).toEqual(exported(steps, truth.get(steps)!, OtlpSink.nameOf));
      }),
    ),
  );
});
