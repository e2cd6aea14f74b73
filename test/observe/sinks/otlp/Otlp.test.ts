import { it } from "@effect/vitest";
import { Clock, Effect, Exit, Fiber, Scope, Tracer } from "effect";
import { TestClock } from "effect/testing";
import { describe, expect } from "vitest";
import { spanned } from "../../../../src/flow/spanned.ts";
import * as Otlp from "../../../../src/observe/sinks/otlp/Otlp.ts";
import * as OtlpSink from "../../../../src/observe/sinks/otlp/OtlpSink.ts";
import { stepRecord } from "../../../build/records.ts";
import { run, sample, stage } from "../fixtures.ts";
import { collector } from "./collector.ts";

const to = (endpoint: string, headers?: Readonly<Record<string, string>>): Otlp.Collector => ({
  endpoint,
  ...(headers === undefined ? {} : { headers }),
  resource: { serviceName: "millrace", serviceVersion: "1.2.3", attributes: { "millrace.run": "quickstart" } },
});

interface Point {
  readonly asDouble?: number;
  readonly attributes: readonly { readonly key: string; readonly value: { readonly stringValue: string } }[];
}
interface Sent {
  readonly name: string;
  readonly description: string;
  readonly unit: string;
  readonly gauge?: { readonly dataPoints: readonly Point[] };
  readonly sum?: { readonly isMonotonic: boolean; readonly dataPoints: readonly Point[] };
}

const sentMetrics = (body: string): readonly Sent[] => JSON.parse(body).resourceMetrics[0].scopeMetrics[0].metrics;

describe("the sink for OpenTelemetry", () => {
  it.effect("sends the newest step, the gauges and the process when it is closed", () =>
    Effect.gen(function* () {
      const { endpoint, posted } = yield* collector();
      const sink = OtlpSink.make(to(endpoint, { "x-key": "secret" }));
      yield* sink.open(run);
      yield* sink.step(stepRecord(1, { "train/success": 0.5 }));
      yield* sink.step(stepRecord(2, { "stage/rollout/busy": 0.75, "ledger/admitted": 40 }));
      yield* sink.gauges?.(sample(1000, [stage("rollout", { queue: 3 })])) ?? Effect.void;
      yield* sink.close({ _tag: "Completed" });
      expect(posted.map(({ path }) => path)).toEqual(["/v1/metrics"]);
      expect(posted[0]?.headers["x-key"]).toBe("secret");
      const sent = sentMetrics(posted[0]?.body ?? "");
      const busy = sent.find(({ name }) => name === "millrace.stage.busy");
      expect(busy).toMatchObject({ description: "Slot-time in which the stage worked.", unit: "share" });
      expect(busy?.gauge?.dataPoints[0]?.asDouble).toBe(0.75);
      expect(busy?.gauge?.dataPoints[0]?.attributes).toContainEqual({
        key: "stage",
        value: { stringValue: "rollout" },
      });
      expect(sent.find(({ name }) => name === "millrace.ledger.admitted")?.sum?.isMonotonic).toBe(true);
      expect(sent.find(({ name }) => name === "millrace.process.cpu")?.unit).toBe("s");
      expect(sent.map(({ name }) => name)).not.toContain("millrace.episodes.success");
    }),
  );

  it.effect("notices nothing where the collector refuses", () =>
    Effect.gen(function* () {
      const { endpoint } = yield* Effect.scoped(collector());
      const sink = OtlpSink.make(to(endpoint));
      yield* sink.open(run);
      yield* sink.step(stepRecord(1, { "train/success": 0.5 }));
      const closing = yield* Effect.forkChild(sink.close({ _tag: "Completed" }), { startImmediately: true });
      yield* TestClock.adjust("2 seconds");
      expect(Exit.isSuccess(yield* Fiber.await(closing))).toBe(true);
    }),
  );

  it.effect("is closed within its deadline where the collector hangs", () =>
    Effect.gen(function* () {
      const { arrived, endpoint } = yield* collector(() => undefined);
      const sink = OtlpSink.make(to(endpoint));
      yield* sink.open(run);
      const closing = yield* Effect.forkChild(sink.close({ _tag: "Completed" }), { startImmediately: true });
      yield* arrived("/v1/metrics");
      yield* TestClock.adjust("2 seconds");
      expect(Exit.isSuccess(yield* Fiber.await(closing))).toBe(true);
    }),
  );
});

/** Makes `count` spans of one name. */
const spans = (tracer: Tracer.Tracer, count: number) =>
  Effect.forEach(Array.from({ length: count }), () => spanned(Effect.void, "turn", { member: 1 }), {
    discard: true,
  }).pipe(Effect.provideService(Tracer.Tracer, tracer));

describe("the tracer for OpenTelemetry", () => {
  it.effect("sends spans with their attributes and parents", () =>
    Effect.gen(function* () {
      const { endpoint, posted } = yield* collector();
      const scope = yield* Scope.make();
      const tracer = yield* Scope.provide(Otlp.tracer(to(endpoint)), scope);
      yield* spanned(spanned(Effect.void, "turn", { member: 1 }), "group", { group: 7 }).pipe(
        Effect.provideService(Tracer.Tracer, tracer),
      );
      yield* Scope.close(scope, Exit.void);
      expect(posted.map(({ path }) => path)).toEqual(["/v1/traces"]);
      const [resource] = JSON.parse(posted[0]?.body ?? "").resourceSpans;
      expect(resource.resource.attributes).toContainEqual({
        key: "millrace.run",
        value: { stringValue: "quickstart" },
      });
      const [turn, group] = resource.scopeSpans[0].spans;
      expect([turn.name, group.name]).toEqual(["turn", "group"]);
      expect(turn.parentSpanId).toBe(group.spanId);
      expect(group.attributes).toEqual([{ key: "group", value: { intValue: 7 } }]);
    }),
  );

  it.effect("holds few requests where the collector hangs, then rests and drops spans", () =>
    Effect.gen(function* () {
      const { endpoint, posted, arrived } = yield* collector(() => undefined);
      const scope = yield* Scope.make();
      const tracer = yield* Scope.provide(Otlp.tracer(to(endpoint)), scope);
      for (let batch = 0; batch < 40; batch++) yield* spans(tracer, 1000);
      yield* arrived("/v1/traces");
      const before = yield* Clock.currentTimeMillis;
      yield* TestClock.adjust("3 seconds");
      yield* Scope.close(scope, Exit.void);
      expect(posted.length).toBeLessThanOrEqual(4);
      expect((yield* Clock.currentTimeMillis) - before).toBe(3000);
    }),
  );

  it("reads the headers of OpenTelemetry's environment variable", () => {
    expect(Otlp.headersOf("authorization=Bearer%20abc, x=1=2,broken,bad=%")).toEqual({
      authorization: "Bearer abc",
      x: "1=2",
      bad: "%",
    });
    expect(Otlp.headersOf(undefined)).toEqual({});
  });
});
