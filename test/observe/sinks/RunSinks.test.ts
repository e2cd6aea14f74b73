import { readFileSync } from "node:fs";
import { join } from "node:path";
import { it } from "@effect/vitest";
import { Effect, Exit, Scope } from "effect";
import { describe, expect } from "vitest";
import { spanned, TracedGroups, tracing } from "../../../src/flow/spanned.ts";
import * as Chosen from "../../../src/observe/sinks/RunSinks.ts";
import { temporaryFolder } from "../../temporaryFolder.ts";
import { someSinks as metrics, run } from "./fixtures.ts";
import { collector } from "./otlp/collector.ts";
import { check } from "./trace/checker.ts";

const chosen = (over: Partial<typeof metrics>) =>
  Effect.scoped(Chosen.make({ metrics: { ...metrics, ...over }, run, variables: {} }));
const names = ({ sinks }: Chosen.RunSinks) => sinks.map(({ name }) => name);

describe("the sinks of a run file", () => {
  it.effect("are those it names, and nothing is traced unless it says so", () =>
    Effect.gen(function* () {
      const none = yield* chosen({});
      expect([names(none), none.tracer]).toEqual([[], null]);
      expect(yield* Chosen.withTracer(tracing, none)).toBe(false);
      const all = yield* chosen({ sinks: ["wandb", "tensorboard", "otlp", "prometheus"], trace: true });
      expect(names(all)).toEqual(["wandb", "tensorboard", "otlp", "prometheus", "trace.json"]);
      expect(yield* Chosen.withTracer(tracing, all)).toBe(true);
    }),
  );

  it.effect("leave out the half of OpenTelemetry that is switched off", () =>
    Effect.gen(function* () {
      const traces = yield* chosen({ sinks: ["otlp"], otlp: { ...metrics.otlp, metrics: false } });
      expect([names(traces), traces.tracer === null]).toEqual([[], false]);
      const numbers = yield* chosen({ sinks: ["otlp"], otlp: { ...metrics.otlp, traces: false } });
      expect([names(numbers), numbers.tracer]).toEqual([["otlp"], null]);
    }),
  );

  it.effect("trace a share of the groups for a collector, and all of them for the file", () =>
    Effect.gen(function* () {
      const exported = yield* chosen({ sinks: ["otlp"] });
      expect(yield* Chosen.withTracer(TracedGroups, exported)).toBe(metrics.otlp.trace_groups);
      const both = yield* chosen({ sinks: ["otlp"], trace: true });
      expect(yield* Chosen.withTracer(TracedGroups, both)).toBe(1);
    }),
  );

  it.effect("give the same spans to the collector and to the trace", () =>
    Effect.gen(function* () {
      const folder = yield* temporaryFolder;
      const { endpoint, posted } = yield* collector();
      const scope = yield* Scope.make();
      const both = yield* Chosen.make({
        metrics: { ...metrics, sinks: ["otlp"], otlp: { ...metrics.otlp, endpoint, metrics: false }, trace: true },
        run: { ...run, folder },
        variables: { OTEL_EXPORTER_OTLP_HEADERS: "x-key=secret" },
      }).pipe(Scope.provide(scope));
      for (const sink of both.sinks) yield* sink.open({ ...run, folder });
      yield* Chosen.withTracer(spanned(spanned(Effect.void, "turn"), "group"), both);
      for (const sink of both.sinks) yield* sink.close({ _tag: "Completed" });
      yield* Scope.close(scope, Exit.void);
      const text = readFileSync(join(folder, "trace.json"), "utf8");
      expect(check(text)).toEqual({ turn: 1, group: 1, arrows: 0 });
      expect(text).not.toContain("secret");
      expect(posted[0]?.headers["x-key"]).toBe("secret");
      const [turn, group] = JSON.parse(posted[0]?.body ?? "").resourceSpans[0].scopeSpans[0].spans;
      expect([turn.name, group.name, turn.parentSpanId === group.spanId]).toEqual(["turn", "group", true]);
    }),
  );
});
