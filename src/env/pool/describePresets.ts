/** Describes presets in a thread of its own, so that a user's module that hangs or ends its thread at load costs a sentence. */
import { Effect } from "effect";
import { Piscina } from "piscina";
import type { DescribeRequest, PresetDescription } from "./describeWorker.ts";

/** All modules together may take so many milliseconds to load; a single one may take 30 s. */
const defaultLoadMs = 60_000;

const failureOf = (cause: unknown, loadMs: number): string =>
  cause instanceof Error && cause.name === "AbortError"
    ? `has not loaded after ${loadMs / 1_000} s`
    : `ended its thread while it loaded: ${cause instanceof Error ? cause.message : String(cause)}`;

/** The description of each preset, by its tag. Where the thread is lost, no preset of the request is usable. */
export const describePresets = (
  request: DescribeRequest,
  loadMs = defaultLoadMs,
): Effect.Effect<ReadonlyMap<string, PresetDescription>> =>
  Effect.acquireUseRelease(
    Effect.sync(
      () =>
        new Piscina<DescribeRequest, ReadonlyMap<string, PresetDescription>>({
          filename: new URL("./describeWorker.ts", import.meta.url).href,
          minThreads: 1,
          maxThreads: 1,
          // A thread that waits in Atomics would stop the timers of a module that loads.
          atomics: "disabled",
        }),
    ),
    (pool) =>
      Effect.tryPromise({
        try: () => pool.run(request, { signal: AbortSignal.timeout(loadMs) }),
        catch: (cause) => failureOf(cause, loadMs),
      }).pipe(
        Effect.catch((failure) =>
          Effect.succeed(
            new Map(
              Object.keys(request.presets).map((tag) => [
                tag,
                { _tag: "Unusable" as const, problem: `custom_envs.${tag}.env_type: the module ${failure}` },
              ]),
            ),
          ),
        ),
      ),
    (pool) => Effect.promise(() => pool.destroy()),
  );
