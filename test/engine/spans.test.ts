import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, it } from "@effect/vitest";
import { Effect, Option, Tracer } from "effect";
import { expect } from "vitest";
import * as Trace from "../../src/observe/sinks/trace/Trace.ts";
import { reachConfig } from "../build/config.ts";
import { run } from "../observe/sinks/fixtures.ts";
import { check } from "../observe/sinks/trace/checker.ts";
import { temporaryFolder } from "../temporaryFolder.ts";
import { eventsOf, observed } from "./fakes.ts";

/** A tracer that keeps the names of every span and of the one around it. */
const recording = () => {
  const edges = new Set<string>();
  const tracer = Tracer.make({
    span: (options) => {
      const parent = Option.getOrNull(options.parent);
      edges.add(`${parent?._tag === "Span" ? parent.name : "-"} > ${options.name}`);
      return new Tracer.NativeSpan(options);
    },
  });
  return { edges, tracer };
};

describe("the spans of a run", () => {
  it.live("are a tree of groups, turns, replies and steps, and of what the stages after them do", () =>
    Effect.gen(function* () {
      const { edges, tracer } = recording();
      yield* Effect.withTracer(observed({ config: reachConfig({ trainer: { test_freq: 1 } }) }), tracer);
      expect([...edges].sort()).toEqual([
        "- > train",
        "close > validation",
        "group > turn",
        "train > checkpoint",
        "train > close",
        "train > filter",
        "train > group",
        "train > score",
        "train > update",
        "turn > generate",
        "turn > step",
        "validation > turn",
      ]);
    }),
  );

  it.live("make a trace with an arrow from each update to what was sampled with it", () =>
    Effect.gen(function* () {
      const folder = yield* temporaryFolder;
      const { sink, tracer } = Trace.make();
      yield* sink.open({ ...run, folder });
      const config = reachConfig({ trainer: { total_training_steps: 4 } });
      const { events, replies } = yield* Effect.withTracer(observed({ config, updateMs: 5 }), tracer());
      yield* sink.close({ _tag: "Completed" });
      const { arrows, ...spans } = check(readFileSync(join(folder, "trace.json"), "utf8"));
      expect(spans).toMatchObject({ train: 1, update: eventsOf(events, "Updated").length, generate: replies.length });
      const adopted = replies.filter(({ servedAt }) => servedAt > 0);
      expect(adopted.length).toBeGreaterThan(0);
      expect(arrows).toBeGreaterThanOrEqual(new Set(adopted.map(({ servedAt }) => servedAt)).size);
    }).pipe(Effect.scoped),
  );
});
