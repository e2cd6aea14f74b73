import { describe, expect, it, layer } from "@effect/vitest";
import { Effect, Fiber } from "effect";
import { toRecord } from "../../../src/domain/metrics/Metrics.ts";
import { Environments, type StepRequest } from "../../../src/env/contract/Environments.ts";
import { layerInline, layerThreads, StepPool, type StepPoolOptions } from "../../../src/env/pool/StepPool.ts";
import { outcome } from "../contract/stepping.ts";
import { counter, loading } from "./fixtures/registry.ts";

const options: StepPoolOptions = {
  presets: { Count: { env_type: "counter", env_config: {} } },
  threads: 1,
  concurrency: 1,
  timeoutMs: 300,
  registry: new URL("./fixtures/registry.ts", import.meta.url),
};

const threads = layerThreads(options);
const inline = layerInline(new Map([["Count", counter]]));

/** Threads take long to start on a busy machine. */
const hooks = { excludeTestServices: true, timeout: 60_000 };

const request = (n: number, ...actions: readonly string[]): StepRequest => ({
  tag: "Count",
  state: { n },
  actions,
  noise: { seed: 1, purpose: "noise", counters: [n, 0, 1] },
});

const together = (...steps: readonly StepRequest[]) => Effect.forEach(steps, outcome, { concurrency: "unbounded" });

for (const [name, service] of [
  ["threads", threads],
  ["inline", inline],
] as const) {
  layer(service, hooks)(name, (it) => {
    it.effect("executes actions in order until the episode ends, summing rewards and merging info", () =>
      Effect.gen(function* () {
        const environments = yield* Environments;
        const result = yield* environments.step(request(1, "2", "end", "5"));
        expect(result).toMatchObject({
          view: { state: { n: 100 }, observation: "n=100", compact: "100", actions: null, contentKey: "100" },
          executed: 2,
          reward: 1,
          terminated: true,
          success: true,
        });
        expect(result.info).toEqual({ success: 1, action_is_effective: 1, action_is_valid: 1, total: 100 });
      }),
    );

    it.effect("stops before an action the ones before made illegal", () =>
      Effect.gen(function* () {
        const environments = yield* Environments;
        const result = yield* environments.step(request(40, "2", "5"));
        expect(result).toMatchObject({ executed: 1, view: { state: { n: 42 }, actions: ["end"] } });
      }),
    );

    it.effect("draws the noise of each action from a stream of its own", () =>
      Effect.gen(function* () {
        const environments = yield* Environments;
        const [first, again, second] = yield* Effect.all([
          environments.step(request(1, "noise")),
          environments.step(request(1, "noise")),
          environments.step(request(1, "0", "noise")),
        ]);
        expect(first.view.state).toEqual(again.view.state);
        expect(first.view.state).not.toEqual(second.view.state);
      }),
    );

    it.effect("fails only the request whose environment throws", () =>
      Effect.gen(function* () {
        expect(yield* together(request(1, "1"), request(2, "throw"), request(3, "1"))).toEqual([
          "n=2",
          "step_error",
          "n=4",
        ]);
        expect((yield* StepPool).faults().lostThreads).toBe(0);
      }),
    );

    it.effect("fails a reset that throws as a step failure, and an unknown tag as a failure of the run", () =>
      Effect.gen(function* () {
        const environments = yield* Environments;
        const instance = { seed: 5, purpose: "instance", counters: [] } as const;
        const one = yield* environments.reset({ tag: "Count", instance, split: "train" });
        const two = yield* environments.reset({ tag: "Count", instance, split: "train" });
        expect(one).toEqual(two);
        const thrown = yield* Effect.flip(environments.reset({ tag: "Count", instance, split: "val" }));
        expect(thrown).toMatchObject({ _tag: "StepFailure", reason: "step_error", message: "no validation" });
        const unknown = yield* Effect.flip(environments.reset({ tag: "Other", instance, split: "train" }));
        expect(unknown._tag).toBe("EnvironmentError");
      }),
    );

    it.effect("counts what passed through the step stage", () =>
      Effect.gen(function* () {
        const { sample } = yield* StepPool;
        const before = sample();
        yield* together(request(1, "1"), request(2, "1"));
        const after = sample();
        expect(after).toMatchObject({ name: "step", kind: "service", queue: 0, running: 0 });
        expect(after.items - before.items).toBe(2);
        expect(after.busyMs).toBeGreaterThan(before.busyMs);
      }),
    );
  });
}

layer(threads, hooks)("threads that are lost", (it) => {
  it.effect("are not those whose answers a busy main thread reads late", () =>
    Effect.gen(function* () {
      const fiber = yield* Effect.forkChild(together(request(1, "slow")));
      // Waits until the batch has been posted; then blocks the main thread for longer than a step may take.
      while ((yield* StepPool).sample().running === 0) yield* Effect.yieldNow;
      yield* Effect.forEach(Array.from({ length: 20 }), () => Effect.yieldNow, { discard: true });
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 500);
      expect(yield* Fiber.join(fiber)).toEqual(["n=1"]);
      expect((yield* StepPool).faults().lostThreads).toBe(0);
    }),
  );

  it.effect("cost only the request that hangs", () =>
    Effect.gen(function* () {
      expect(yield* together(request(1, "1"), request(2, "hang"), request(3, "1"))).toEqual([
        "n=2",
        "step_timeout",
        "n=4",
      ]);
      expect((yield* StepPool).faults().lostThreads).toBe(1);
    }),
  );
});

/** A pool of its own for one test, whose steps count from nothing. */
const withPool = <A, E>(changes: Partial<StepPoolOptions>, test: Effect.Effect<A, E, Environments | StepPool>) =>
  Effect.provide(test, layerThreads({ ...options, ...changes }));

const ofInstance = (instance: string, step: StepRequest): StepRequest => ({ ...step, instance });
const faults = Effect.map(StepPool, (pool) => pool.faults());

describe("a step that hangs", () => {
  it.live("holds up no other: they are answered while it is waited for", () =>
    withPool(
      { threads: 2, concurrency: 2, timeoutMs: 2_000 },
      Effect.gen(function* () {
        yield* together(...Array.from({ length: 8 }, () => request(1, "1")));
        const ended: string[] = [];
        const noted = (step: StepRequest) => Effect.map(outcome(step), (answer) => void ended.push(answer));
        const steps = [request(1, "hang"), request(2, "1"), request(3, "1"), request(4, "1")];
        yield* Effect.forEach(steps, noted, { concurrency: "unbounded" });
        expect([ended.slice(0, 3).toSorted(), ended[3]]).toEqual([["n=3", "n=4", "n=5"], "step_timeout"]);
      }),
    ),
  );

  it.live("costs its time limit, and no other step more than a moment, where it blocks in a system call", () =>
    withPool(
      { timeoutMs: 400 },
      Effect.gen(function* () {
        const began = performance.now();
        expect(yield* together(request(1, "block"), request(2, "1"))).toEqual(["step_timeout", "n=3"]);
        // The call itself takes 20 s.
        expect(performance.now() - began).toBeLessThan(15_000);
      }),
    ),
  );

  it.live("costs a thread once; after that it is interrupted within its thread", () =>
    withPool(
      { timeoutMs: 200 },
      Effect.gen(function* () {
        expect(yield* together(request(1, "hang"), request(1, "1"))).toEqual(["step_timeout", "n=2"]);
        expect(yield* together(request(2, "hang"), request(2, "1"))).toEqual(["step_timeout", "n=3"]);
        expect(yield* together(request(3, "1"), request(3, "hang"))).toEqual(["n=4", "step_timeout"]);
        const { hungSeconds, suspects, lostThreads: threads } = yield* faults;
        expect([threads, suspects]).toEqual([1, 0]);
        expect(hungSeconds).toBeGreaterThanOrEqual(0.6);
      }),
    ),
  );

  it.live("fails its instance's further steps at once when it has done so twice, and those of no other", () =>
    withPool(
      { timeoutMs: 200 },
      Effect.gen(function* () {
        const bad = (...actions: readonly string[]) => ofInstance("bad", request(1, ...actions));
        expect(yield* together(bad("hang"), bad("hang"), bad("hang"), bad("hang"))).toEqual(
          expect.arrayContaining(["step_timeout", "step_timeout", "step_quarantined", "step_quarantined"]),
        );
        const answers = yield* together(bad("1"), ofInstance("good", request(1, "1")), request(1, "1"));
        expect(answers).toEqual(["step_quarantined", "n=2", "n=2"]);
        expect((yield* faults).quarantined).toBe(1);
      }),
    ),
  );

  it.live("is never held against its instance where step_quarantine is 0", () =>
    withPool(
      { timeoutMs: 200, quarantine: 0 },
      Effect.gen(function* () {
        const steps = [1, 2, 3].map((n) => ofInstance("bad", request(n, "hang")));
        expect(yield* together(...steps)).toEqual(Array(3).fill("step_timeout"));
        expect(yield* together(ofInstance("bad", request(1, "1")))).toEqual(["n=2"]);
      }),
    ),
  );

  it.live("waits for its trial where as many are tried as may be", () =>
    withPool(
      { timeoutMs: 200, spares: 1, threads: 2, concurrency: 2 },
      Effect.gen(function* () {
        const steps = [1, 2, 3].map((n) => request(n, "hang"));
        expect(yield* together(...steps, request(4, "1"))).toEqual([...Array(3).fill("step_timeout"), "n=5"]);
      }),
    ),
  );
});

describe("what steps cost their threads", () => {
  it.live("is told as metrics", () =>
    withPool(
      { timeoutMs: 200 },
      Effect.gen(function* () {
        yield* together(request(1, "hang"));
        const metrics = toRecord((yield* StepPool).metrics!());
        expect(metrics).toMatchObject({ "step/lost_threads": 1, "step/suspects": 0, "step/quarantined_instances": 0 });
        expect(metrics["step/hung_seconds"]).toBeGreaterThanOrEqual(0.2);
      }),
    ),
  );
});

describe("a step that turns on its thread", () => {
  it.live("costs only its request where it ends its thread or cannot be sent back", () =>
    withPool(
      { timeoutMs: 10_000 },
      Effect.gen(function* () {
        const steps = [request(1, "1"), request(2, "spend"), request(3, "uncloneable"), request(4, "1")];
        expect(yield* together(...steps)).toEqual(["n=2", "step_crashed", "step_crashed", "n=5"]);
        expect(yield* together(request(5, "1"))).toEqual(["n=6"]);
      }),
    ),
  );

  it.live("fails, and no thread is lost, where it would end the process", () =>
    withPool(
      {},
      Effect.gen(function* () {
        const answers = yield* together(request(1, "exit"), request(1, "kill"), request(1, "abort"), request(1, "1"));
        expect(answers).toEqual(["step_crashed", "step_crashed", "step_crashed", "n=2"]);
        expect((yield* faults).lostThreads).toBe(0);
      }),
    ),
  );

  it.live("harms no other where it leaves errors behind, which are counted", () =>
    withPool(
      {},
      Effect.gen(function* () {
        expect(yield* together(request(1, "stray"))).toEqual(["n=1"]);
        // The errors come in a later turn of the thread's event loop.
        while ((yield* faults).strayErrors < 2) expect(yield* together(request(1, "1"))).toEqual(["n=2"]);
        const { strayErrors: strays, lostThreads: threads } = yield* faults;
        expect([strays, threads]).toEqual([2, 0]);
      }),
    ),
  );
});

describe("threads", () => {
  it.live("fail the run at its start when they cannot load the environments", () =>
    Effect.gen(function* () {
      const presets = { Count: { env_type: "counter", env_config: { broken: true } } };
      const error = yield* Effect.flip(Effect.provide(Environments, layerThreads({ ...options, presets })));
      expect(error).toMatchObject({ _tag: "EnvironmentError", tag: "Count" });
      expect(error.message).toContain("custom_envs.Count cannot be used");
    }),
  );
});

const loaded = (loads: true | string) =>
  [
    ["threads", layerThreads({ ...options, presets: { Load: { env_type: "counter", env_config: { loads } } } })],
    ["inline", layerInline(new Map([["Load", loading(loads === true ? null : loads)]]))],
  ] as const;

describe("an environment that loads", () => {
  for (const [name, service] of loaded(true)) {
    it.live(`has loaded once before its first reset, ${name}`, () =>
      Effect.gen(function* () {
        const environments = yield* Environments;
        const instance = { seed: 5, purpose: "instance", counters: [] } as const;
        const reset = environments.reset({ tag: "Load", instance, split: "train" });
        expect((yield* Effect.all([reset, reset])).map((view) => view.observation)).toEqual(["n=1", "n=1"]);
      }).pipe(Effect.provide(service)),
    );
  }

  for (const [name, service] of loaded("the words are not there; run make words")) {
    it.live(`fails the run with its sentence when it cannot, ${name}`, () =>
      Effect.gen(function* () {
        const error = yield* Effect.flip(Effect.provide(Environments, service));
        expect(error).toMatchObject({ _tag: "EnvironmentError", tag: "Load" });
        expect(error.message).toContain("Load: the words are not there; run make words");
      }),
    );
  }
});

describe("the real registry", () => {
  it.live("is loaded by threads, wrappers too, and answers as inline does", () =>
    Effect.gen(function* () {
      const wrappers = [{ type: "time_limit", max_steps: 1 }];
      const presets = { Frozen: { env_type: "frozen_lake", env_config: {}, wrappers } };
      const play = Effect.gen(function* () {
        const environments = yield* Environments;
        const view = yield* environments.reset({
          tag: "Frozen",
          instance: { seed: 3, purpose: "instance", counters: [] },
          split: "train",
        });
        return yield* environments.step({
          tag: "Frozen",
          state: view.state,
          actions: view.actions!.slice(0, 2),
          noise: { seed: 0, purpose: "noise", counters: [0, 0, 1] },
        });
      });
      const { decodePreset, gamesUrl, loadRegistry } = yield* Effect.promise(
        () => import("../../../src/env/games/registry.ts"),
      );
      const registry = yield* Effect.promise(() => loadRegistry(["frozen_lake"]));
      const bound = decodePreset("Frozen", presets.Frozen, registry);
      if (bound._tag === "Failure" || bound.success.asynchronous) return expect.unreachable();
      const here = yield* Effect.provide(play, layerInline(new Map([["Frozen", bound.success]])));
      const there = yield* Effect.provide(
        play,
        layerThreads({ ...options, registry: gamesUrl, timeoutMs: 5000, presets }),
      );
      expect(there).toEqual(here);
      expect(there).toMatchObject({ executed: 1, terminated: false, truncated: true });
    }),
  );
});
