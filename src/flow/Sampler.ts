/** Reads all gauges at a steady pace and puts one `Sample` per period on the bus. Nothing waits for it. */
import { Clock, Effect, Schedule } from "effect";
import * as Ledger from "../domain/Ledger.ts";
import { Bus, type ProcessSample, type Sample } from "./Bus.ts";
import { StageRegistry } from "./StageRegistry.ts";

const settingsOf = ({ settings }: typeof StageRegistry.Service): Pick<Sample, "settings"> => {
  const all = settings().map(({ concurrency, most, name }) => ({ name, concurrency: concurrency(), most }));
  return all.length === 0 ? {} : { settings: all };
};

/** Samples now and then every period; runs until interrupted. */
export const run = (periodMs: number, usage: () => ProcessSample): Effect.Effect<void, never, Bus | StageRegistry> =>
  Effect.gen(function* () {
    const bus = yield* Bus;
    const registry = yield* StageRegistry;
    const clock = yield* Clock.Clock;
    const start = clock.monotonicTimeNanosUnsafe();
    const sample = Effect.suspend(() => {
      const { ledger, trainedTokens } = bus.state();
      return bus.publishSample({
        elapsedMs: Number(clock.monotonicTimeNanosUnsafe() - start) / 1e6,
        stages: registry.stages().map((stage) => stage.sample()),
        ...settingsOf(registry),
        tokens: { generated: ledger.tokens.admitted, trained: trainedTokens },
        groupsInFlight: Ledger.inFlight(ledger).groups,
        process: usage(),
      });
    });
    yield* Effect.repeat(sample, Schedule.spaced(periodMs));
  });
