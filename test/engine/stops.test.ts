import { describe, it } from "@effect/vitest";
import { Effect } from "effect";
import { expect } from "vitest";
import { Config } from "../../src/engine/RunContext.ts";
import { unlessStalled } from "../../src/engine/stops.ts";
import * as Bus from "../../src/flow/Bus.ts";
import { reachConfig } from "../build/config.ts";

const sample = (): never => {
  throw new Error("no stage is sampled before a stall");
};
const line = { stages: { learn: { halt: Effect.void }, close: { sample } } };

/** Returns true if the line's work runs on its caller's fiber. */
const isAttached = (stall_abort_ms: number) => {
  let worker = -1;
  const work = Effect.map(Effect.fiberId, (id) => {
    worker = id;
  });
  // The services that save are used after a stall alone.
  const running = unlessStalled(line, work) as Effect.Effect<void, unknown, Config | Bus.Bus>;
  return Effect.andThen(running, Effect.fiberId).pipe(
    Effect.map((caller) => caller === worker),
    Effect.provideService(Config, reachConfig({ pipeline: { stall_abort_ms } })),
    Effect.provide(Bus.layer()),
  );
};

describe("the work of a line", () => {
  it.effect("is detached where a stall may end the run", () =>
    Effect.gen(function* () {
      expect(yield* isAttached(1_000)).toBe(false);
    }),
  );

  it.effect("runs on its caller's fiber where no stall ends it", () =>
    Effect.gen(function* () {
      expect(yield* isAttached(0)).toBe(true);
    }),
  );
});
