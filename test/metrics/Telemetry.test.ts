import { describe, it } from "@effect/vitest";
import { Effect, Exit, Logger } from "effect";
import { expect } from "vitest";
import { SinkError } from "../../src/metrics/Sink.ts";
import * as Telemetry from "../../src/metrics/Telemetry.ts";
import * as Bus from "../../src/stage/Bus.ts";
import { notebook, record, run, sample } from "./fixtures.ts";

const broken = new SinkError({ sink: "disk", message: "no space left" });
const quietly = Effect.provide(Logger.layer([]));

describe("telemetry", () => {
  it.live("brings every record, in order, to every sink before it is closed", () =>
    Effect.gen(function* () {
      const bus = yield* Bus.make({ records: 2 });
      const sinks = [notebook(), notebook()];
      yield* Effect.scoped(
        Effect.gen(function* () {
          yield* Telemetry.attach({ bus, sinks: sinks.map(({ sink }) => sink), run });
          for (let step = 1; step <= 20; step++) yield* bus.record(record(step));
        }),
      );
      const expected = ["open quickstart", ...Array.from({ length: 20 }, (_, i) => `step ${i + 1}`), "close Completed"];
      expect(sinks[0]!.told).toEqual(expected);
      expect(sinks[1]!.told).toEqual(expected);
    }),
  );

  it.live("brings samples and events, and tells the last ones before closing", () =>
    Effect.gen(function* () {
      const bus = yield* Bus.make();
      const { sink, told } = notebook();
      yield* Effect.scoped(
        Effect.gen(function* () {
          yield* Telemetry.attach({ bus, sinks: [sink], run });
          yield* bus.sampled(sample(500));
          yield* bus.emit({ _tag: "Stopped", reason: "interrupted" });
        }),
      );
      expect(told.slice(1, -1).sort()).toEqual(["event Stopped", "gauges 500"]);
      expect(told.at(-1)).toBe("close Stopped");
    }),
  );

  it.live("switches off a sink that breaks and is not essential, and goes on", () =>
    Effect.gen(function* () {
      const bus = yield* Bus.make();
      const failing = notebook({ step: () => Effect.fail(broken) });
      const good = notebook();
      yield* Effect.scoped(
        Effect.gen(function* () {
          yield* Telemetry.attach({ bus, sinks: [failing.sink, good.sink], run });
          yield* bus.record(record(1));
          yield* bus.record(record(2));
        }),
      );
      expect(failing.told).toEqual(["open quickstart"]);
      expect(good.told).toEqual(["open quickstart", "step 1", "step 2", "close Completed"]);
    }).pipe(quietly),
  );

  it.live("fails the run with a sink that is essential, and closes the others as failed", () =>
    Effect.gen(function* () {
      const bus = yield* Bus.make();
      const disk = notebook({ essential: true, step: () => Effect.fail(broken) });
      const good = notebook();
      const exit = yield* Effect.exit(
        Effect.scoped(
          Effect.gen(function* () {
            const failing = yield* Telemetry.attach({ bus, sinks: [disk.sink, good.sink], run });
            yield* bus.record(record(1));
            yield* Effect.raceFirst(Effect.never, failing);
          }),
        ),
      );
      expect(exit).toEqual(Exit.fail(broken));
      expect(good.told.at(-1)).toBe("close Failed");
    }),
  );

  it.live("does not start a run whose essential sink cannot be opened", () =>
    Effect.gen(function* () {
      const bus = yield* Bus.make();
      const disk = notebook({ essential: true, open: () => Effect.fail(broken) });
      const exit = yield* Effect.exit(Effect.scoped(Telemetry.attach({ bus, sinks: [disk.sink], run })));
      expect(exit).toEqual(Exit.fail(broken));
    }),
  );
});
