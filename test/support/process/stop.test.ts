/** Signals ask for a stop or end the process, whatever its threads are doing. */
import { spawn } from "node:child_process";
import { describe, it } from "@effect/vitest";
import { Effect, Exit, Fiber } from "effect";
import { expect } from "vitest";
import * as Stop from "../../../src/support/process/Stop.ts";

/** Runs a process of this folder to its end, and signals it when it prints one of the lines `at`. */
const signalled = (file: string, signal: NodeJS.Signals, at: readonly string[]) =>
  Effect.callback<{ readonly seen: readonly string[]; readonly code: number | null }>((resume) => {
    const child = spawn(process.execPath, [new URL(file, import.meta.url).pathname]);
    const seen: string[] = [];
    child.stdout.setEncoding("utf8").on("data", (text: string) => {
      for (const line of text.split("\n").filter((part) => part !== "")) {
        seen.push(line);
        if (at.includes(line)) child.kill(signal);
      }
    });
    child.on("close", (code) => resume(Effect.succeed({ seen, code })));
    return Effect.sync(() => void child.kill("SIGKILL"));
  });

describe("signals", () => {
  it.effect("ask for a stop once, and leave no listener behind", () =>
    Effect.gen(function* () {
      const listeners = () => ["SIGINT", "SIGTERM", "SIGHUP"].map((name) => process.listenerCount(name));
      const before = listeners();
      yield* Effect.scoped(
        Effect.gen(function* () {
          const stop = yield* Stop.stopOnSignals;
          expect(listeners()).toEqual(before.map((count) => count + 1));
          yield* stop.request;
          yield* stop.requested;
        }),
      );
      expect(listeners()).toEqual(before);
    }),
  );

  it.live("are heard for a moment longer than the run, where npm passes the terminal's signal on", () =>
    Effect.gen(function* () {
      const before = process.listeners("SIGINT");
      const newListeners = () => process.listeners("SIGINT").filter((listener) => !before.includes(listener));
      yield* Effect.scoped(
        Effect.gen(function* () {
          const stop = yield* Stop.stopOnSignals;
          newListeners()[0]?.("SIGINT");
          yield* stop.requested;
        }),
      );
      expect(newListeners()).toHaveLength(1);
      newListeners()[0]?.("SIGINT");
      yield* Effect.promise(() => expect.poll(newListeners).toEqual([]));
    }),
  );

  it("count once where npm passes the terminal's signal on", () => {
    expect([Stop.signalMeaning(null, 7), Stop.signalMeaning(7, 8), Stop.signalMeaning(7, 1_000)]).toEqual([
      "stop",
      "echo",
      "abort",
    ]);
  });

  it.live.each(["SIGINT", "SIGTERM", "SIGHUP"] as const)("end the process with 130 the second time: %s", (signal) =>
    Effect.gen(function* () {
      const { code, seen } = yield* signalled("./stopSignals.ts", signal, ["listening", "asked"]);
      expect(seen).toEqual(["listening", "asked"]);
      expect(code).toBe(130);
    }),
  );

  it.live("end it without an abort while a thread is inside native code", () =>
    Effect.gen(function* () {
      expect(yield* signalled("./busyThread.ts", "SIGINT", ["busy"])).toEqual({ seen: ["busy", "left"], code: 130 });
    }),
  );
});

describe("work that comes before a run", () => {
  const withStop = <A, E>(work: Effect.Effect<A, E, Stop.Stop>) => Effect.provide(work, Stop.layerWithoutSignals);

  it.effect("is interrupted by a stop, and says before what", () =>
    withStop(
      Effect.gen(function* () {
        const stop = yield* Stop.Stop;
        const loading = yield* Effect.forkChild(Effect.exit(Stop.unlessStopped(Effect.never, "the first step")));
        yield* stop.request;
        const exit = yield* Fiber.join(loading);
        expect(Exit.isFailure(exit) && String(exit.cause)).toContain("stopped before the first step");
      }),
    ),
  );

  it.effect("gives its result where no stop is asked for", () =>
    withStop(
      Effect.gen(function* () {
        expect(yield* Stop.unlessStopped(Effect.succeed(3), "the first step")).toBe(3);
      }),
    ),
  );
});
